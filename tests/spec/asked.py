"""The tables of what is asked, joined with the tests that name it."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.spec.marks import every_mark

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.spec.marks import Mark

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NEWEST = 291


@dataclass(frozen=True, slots=True)
class Asked:
    """One requirement or case: what it is called, and why it may have no test."""

    name: str
    title: str
    tests: tuple[str, ...]
    later: str | None = None
    docs: str | None = None
    absent: bool = False

    @property
    def open(self) -> bool:
        """Whether it belongs to what is built and nothing holds it yet."""
        return not self.tests and self.later is None and self.docs is None

    @property
    def line(self) -> str:
        """The number, then the tests; without one `-` and why."""
        if self.docs is not None:
            return f'{self.name} docs {page_of(self.docs) or "-"} "{self.docs}"'
        if self.tests:
            kind = "absent " if self.absent else ""
            return f"{self.name} {kind}{' '.join(self.tests)}"
        return f"{self.name} - {f'later ({self.later})' if self.later else f'open: {self.title}'}"


def requirements() -> list[Asked]:
    """R001 to R291, in order."""
    return _joined("requirements.toml", "covers")


def cases() -> list[Asked]:
    """Field cases, threats and store rules."""
    return _joined("cases.toml", "poses")


def unknown(marks: Iterable[Mark]) -> list[str]:
    """Names that stand in no table."""
    known = {asked.name for asked in [*requirements(), *cases()]}
    return [f"{mark.test}: {mark.name}" for mark in marks if mark.name not in known]


def page_of(sentence: str) -> str | None:
    """The page of prose that says so, however its lines are broken."""
    pages = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        said = re.sub(r"\s+(?:\* |> )?", " ", page.read_text(encoding="utf-8"))
        if sentence in said:
            return page.relative_to(ROOT).as_posix()
    return None


def _joined(table: str, word: str) -> list[Asked]:
    rows = tomllib.loads((HERE / table).read_text(encoding="utf-8"))
    tests: dict[str, dict[str, None]] = {name: {} for name in rows}
    for mark in every_mark():
        if mark.word == word:
            tests.setdefault(mark.name, {})[mark.test] = None
    return [Asked(name, tests=tuple(tests[name]), **row) for name, row in rows.items()]
