"""Lines for people: coloured on a terminal, plain everywhere else."""

import os
import sys
from typing import TextIO

_COLOURS = {"green": "32", "yellow": "33", "red": "31", "blue": "34", "dim": "2", "bold": "1"}
_CLEAR_LINE = "\r\x1b[2K"


class Console:
    """Prints lines, and one line of progress that the next print replaces."""

    def __init__(self, out: TextIO = sys.stdout) -> None:
        self._out = out
        self.is_terminal = out.isatty() and os.environ.get("TERM") != "dumb"
        self._colours = self.is_terminal and "NO_COLOR" not in os.environ
        self._progress = ""

    def line(self, text: str = "") -> None:
        """Print a line above the progress line."""
        self._write(f"{self._blank()}{text}\n{self._progress}")

    def progress(self, text: str) -> None:
        """Replace the progress line; nothing off a terminal, where lines cannot be replaced."""
        if self.is_terminal:
            self._write(f"{self._blank()}{text}")
            self._progress = text

    def paint(self, colour: str, text: str) -> str:
        """Colour the text where colours can be seen."""
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if self._colours else text

    def _blank(self) -> str:
        return _CLEAR_LINE if self._progress else ""

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
