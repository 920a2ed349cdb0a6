"""Values of options by name: what is wrong with them is collected, so that all of it is told at once."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from sizing.units.errors import BadInput, Problem, shown
from sizing.units.names import nearest
from sizing.units.quantities import NotAccepted

Found = TypeVar("Found")


def json_path(json_file: str | None) -> Path | None:
    """The file that `--json FILE|-` names; None for standard output, and where it is not asked for."""
    return None if json_file in (None, "-") else Path(json_file)


class OptionReader:
    """Looks names up; None where one is not known, and its problem among `_problems`."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []

    def _read(self, option: str, text: str, parse: Callable[[str], Found]) -> Found | None:
        try:
            return parse(text)
        except NotAccepted as refused:
            self._problems.append(
                Problem(refused.what, option, None, None, shown(text), refused.accepted, refused.nearest)
            )
            return None

    def _positive(self, option: str, text: str, parse: Callable[[str], int]) -> int | None:
        value = self._read(option, text, parse)
        if value == 0:
            self._problems.append(Problem("must be more than 0", option, seen=shown(text)))
            return None
        return value

    def _choice(self, option: str, text: str, known: Mapping[str, Found]) -> Found | None:
        """One of a few values that are all known here."""
        if text in known:
            return known[text]
        self._problems.append(
            Problem("is not known", option, seen=shown(text), accepted=", ".join(known), nearest=nearest(text, known))
        )
        return None

    def _named(self, option: str, look_up: Callable[[str], Found], name: str) -> Found | None:
        """An entry of the catalog; what the catalog says of an unknown name is told with the option."""
        try:
            return look_up(name)
        except BadInput as wrong:
            self._problems += [replace(found, path=found.path or option) for found in wrong.problems]
            return None
