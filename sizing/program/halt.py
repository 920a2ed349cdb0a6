"""Ending a search early with the best plan so far, as when a user presses Ctrl-C."""

from collections.abc import Callable


class Halt:
    """A search looks at `asked`; a solve that is running is told at once."""

    def __init__(self) -> None:
        self.asked = False
        self._cancel: Callable[[], None] | None = None

    def ask(self) -> None:
        """End the search, and the solve that is running."""
        self.asked = True
        if self._cancel is not None:
            self._cancel()

    def during(self, cancel: Callable[[], None] | None) -> None:
        """What ends the solve that starts now; None when it is over."""
        self._cancel = cancel
