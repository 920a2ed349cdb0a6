"""Names that people type: the nearest valid one when theirs is not known."""

import re
from collections.abc import Iterable

LONGEST_NAME = 200  # nothing longer is worth comparing
_JOINER = re.compile("(?<=[^\x00-\x7f\u200c\u200d])[\u200c\u200d](?=[^\x00-\x7f\u200c\u200d])")


def is_printable(name: str) -> bool:
    """Whether a reader sees all of a name.

    One zero-width joiner or non-joiner shapes what it stands between, an emoji or letters of scripts such as Persian.
    Beside letters that it does not shape it would hide in the name.
    """
    return _JOINER.sub("", name).isprintable()


def nearest(seen: str, known: Iterable[str]) -> str | None:
    """The known name most like `seen`, or None when none comes close."""
    from difflib import get_close_matches

    if len(seen) > LONGEST_NAME:
        return None
    by_folded = {name.casefold(): name for name in known}
    matches = get_close_matches(seen.casefold(), by_folded, n=1, cutoff=0.5)
    return by_folded[matches[0]] if matches else None
