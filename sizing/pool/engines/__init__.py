"""Engine profiles: how an engine stores a cache, and what it takes of a GPU's memory beside it."""
