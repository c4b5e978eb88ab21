"""`make independent`: the Hands house is tested where there is nothing else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests import independent
from tests.covers import covers

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).resolve().parents[3]


@covers("R273")
def test_an_environment_with_more_than_hands_proves_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """R273: where Django can be imported, as here, the check of dependencies fails."""
    assert independent.main(sys.executable, ["--collect-only"]) == 1
    assert "there is more than Hands: ['django']" in capfd.readouterr().err


def test_paths_of_other_tests_are_left_out(tmp_path: Path) -> None:
    """`make test ARGS=tests/web` has nothing to run there, which is no failure."""
    (tmp_path / "tests/unit/hands").mkdir(parents=True)

    def here(*arguments: str) -> list[str] | None:
        return independent.those_here(list(arguments), tmp_path)

    assert here("-k", "lease") == ["-k", "lease"]
    assert here("-x", "tests/web", "tests/unit/hands") == ["-x", "tests/unit/hands"]
    assert here("tests/web") is None


@covers("R273")
def test_one_command_checks_all_and_another_the_dependencies() -> None:
    """R273: `make test` runs the second as a leg, and continuous integration requires it."""
    makefile = (ROOT / "Makefile").read_text()

    assert "\nindependent: $(HANDS_VENV)/hands.stamp\n" in makefile
    assert "DURABLE_TEST_HANDS='$(HANDS_VENV)/bin/python' $(RUN) -m tests.run" in makefile
    assert 'DURABLE_REQUIRE_LEGS="independent' in (ROOT / ".ci/run").read_text()
