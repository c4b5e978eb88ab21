"""The tables of what is asked and the names that tests give stay true to each other."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from tests.covers import MOST
from tests.spec.__main__ import main
from tests.spec.asked import NEWEST, Asked, cases, page_of, requirements, unknown
from tests.spec.marks import Mark, every_mark, of_text

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__)


def test_every_requirement_has_its_line_in_order() -> None:
    """R001 to the newest, each once, under a title of its own."""
    asked = requirements()

    assert [each.name for each in asked] == [f"R{number:03}" for number in range(1, NEWEST + 1)]
    assert len({each.title for each in asked}) == NEWEST
    assert len({each.title for each in cases()}) == len(cases())


def test_everything_that_is_built_is_held_by_something() -> None:
    """Each requirement, case and rule has a test, a sentence, or the order that will build it."""
    assert [each.line for each in [*requirements(), *cases()] if each.open] == []


def test_no_test_names_what_is_not_asked() -> None:
    """A slip of the number is found; so is one that was taken out of the tables."""
    assert unknown(every_mark()) == []
    assert unknown([Mark("covers", "R999", "test_x", HERE)]) == ["test_x: R999"]


def test_no_test_names_more_than_it_can_hold() -> None:
    """Several marks on one test add up; the rows of its table count each for itself."""
    crowded = [each for path in sorted({mark.path for mark in every_mark()}) for each in over(path)]

    assert crowded == []
    both = '@covers("R001", "R002")\n@covers("R003", "R004")\ndef test_x(): ...'
    assert over(HERE, both) == ["test_x"]


def over(path: Path, text: str | None = None) -> Sequence[str]:
    """Name the tests of a file that give more requirements than one test may."""
    given: dict[str, int] = {}
    for mark in of_text(path, text):
        if mark.word == "covers" and not mark.row:
            given[mark.test] = given.get(mark.test, 0) + 1
    return [test for test, count in given.items() if count > MOST]


@pytest.mark.parametrize(
    "asked", [each for each in requirements() if each.docs], ids=lambda each: str(each.name)
)
def test_what_prose_holds_is_said(asked: Asked) -> None:
    """The sentence stands in the README or in docs, word for word."""
    assert asked.docs is not None
    assert page_of(asked.docs) is not None
    assert page_of(asked.docs + " Not so.") is None


def test_marks_are_read_from_decorators_and_tables() -> None:
    """Whatever way pytest would find the mark, the listing finds it too."""
    text = dedent("""
        ROWS = [pytest.param(1, marks=covers("R263"))]

        @covers("R001", "R002")
        @poses("C13")
        def test_one(): ...

        class TestMore:
            @pytest.mark.parametrize("row", ROWS)
            async def test_two(self, row): ...
    """)

    read = [(mark.name, mark.test, mark.row) for mark in of_text(HERE, text)]

    assert read == [
        ("R001", "test_one", False),
        ("R002", "test_one", False),
        ("C13", "test_one", False),
        ("R263", "test_two", True),
    ]


def test_a_gap_fails_only_who_asks_for_strictness(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--open` lists what nothing holds; `--strict` makes it a failure."""
    open_ = Asked("R001", "a", ())
    monkeypatch.setattr("tests.spec.__main__.requirements", lambda: [open_, *requirements()])

    assert main(["--open"]) == 0
    assert capsys.readouterr().out == f"{open_.line}\n"
    assert main(["--strict"]) == 1
    assert main([]) == 0


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        (Asked("R001", "a", ("test_a", "test_b")), "R001 test_a test_b"),
        (Asked("R002", "a", (), later="MCP"), "R002 - later (MCP)"),
        (Asked("R003", "a", ("test_a",), later="MCP"), "R003 test_a"),
        (Asked("R004", "a", ("test_a",), absent=True), "R004 absent test_a"),
        (Asked("R005", "a", ()), "R005 - open: a"),
        (Asked("R006", "a", (), docs="Nobody says so"), 'R006 docs - "Nobody says so"'),
    ],
    ids=lambda value: value.name if isinstance(value, Asked) else "",
)
def test_a_line_says_what_holds_the_requirement(asked: Asked, line: str) -> None:
    """The number first, then the tests, the sentence, or why there is none."""
    assert asked.line == line
