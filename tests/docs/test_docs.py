"""The prose is true: its code runs, its files and commands exist, its tables are the code's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from sessions_app.machine.explain import Cause
from sessions_app.management.commands.durable import Command
from tests.docs.pages import DOCS, PAGES

if TYPE_CHECKING:
    from pathlib import Path

ROOT = DOCS.parent
PAGES_OF_PROSE = sorted(
    [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *DOCS.rglob("*.md")], key=str
)
FILES = re.compile(r"`((?:sessions_app|hands_app|durable_site|tests|docs)/[\w/.-]+\.\w+)`")
HOUSES = ("durable_site", "sessions_app", "hands_app", "tests")
VARIABLES = re.compile(
    r"[\"'](DURABLE_[A-Z_]+|(?:HANDS_)?DATABASE_URL|(?:REDIS|RABBITMQ)_URL)[\"']"
)
BLOCKS = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", PAGES)
def test_a_reference_page_is_what_the_code_says(name: str) -> None:
    """Pages made from code are up to date."""
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name]()


@pytest.mark.parametrize("page", PAGES_OF_PROSE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_file_that_prose_names_exists(page: Path) -> None:
    """Paths and links lead somewhere."""
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)

    assert [name for name in FILES.findall(text) if not (ROOT / name).exists()] == []
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_command_of_the_readme_exists() -> None:
    """`make` targets and verbs of `durable` are real."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"`?make ([a-z-]+)", text))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    parser = Command().create_parser("manage.py", "durable")
    usage = parser.format_help()

    assert [target for target in targets if f"\n{target}:" not in makefile] == []
    verbs = set(re.findall(r"manage\.py durable ([a-z]+)", text))
    assert [verb for verb in verbs if verb not in usage] == []


def test_every_cause_is_explained() -> None:
    """The table of diagnosis has each cause that `explain` can give, and no other."""
    text = (DOCS / "howto/diagnose.md").read_text(encoding="utf-8")
    first_cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]

    assert {cause for cell in first_cells for cause in re.findall(r"`([a-z-]+)`", cell)} == set(
        Cause
    )


def test_every_name_of_the_environment_is_explained() -> None:
    """Whatever variable the code reads stands in the table, and the table names no other."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.split("**Environment.**")[1].split("**Roles")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    explained = {name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)}
    sources = [path for room in HOUSES for path in (ROOT / room).rglob("*.py")]
    read = {name for path in sources for name in VARIABLES.findall(path.read_text("utf-8"))}

    assert explained == read


def test_the_tour_leads_through_the_house() -> None:
    """The seven files of the tour exist and open with a sentence about themselves."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    tour = re.findall(r"^\d\. `([^`]+)`", text, re.MULTILINE)

    assert len(tour) == 7
    for name in tour:
        assert (ROOT / name).read_text(encoding="utf-8").startswith('"""'), name


@pytest.mark.parametrize(
    "page",
    [
        page
        for page in PAGES_OF_PROSE
        if BLOCKS.search(page.read_text()) and page.name != "README.md"
    ],
    ids=lambda page: page.name,
)
def test_code_in_the_docs_runs(page: Path) -> None:
    """Each Python block of a page runs, one after the other."""
    names: dict[str, object] = {}
    for block in BLOCKS.findall(page.read_text(encoding="utf-8")):
        exec(compile(block, str(page), "exec"), names)  # noqa: S102 - our own prose
