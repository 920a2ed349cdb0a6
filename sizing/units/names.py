"""Names that people type: the nearest valid one when theirs is not known."""

from collections.abc import Iterable

LONGEST_NAME = 200  # nothing longer is worth comparing


def nearest(seen: str, known: Iterable[str]) -> str | None:
    """The known name most like `seen`, or None when none comes close."""
    from difflib import get_close_matches

    if len(seen) > LONGEST_NAME:
        return None
    by_folded = {name.casefold(): name for name in known}
    matches = get_close_matches(seen.casefold(), by_folded, n=1, cutoff=0.5)
    return by_folded[matches[0]] if matches else None
