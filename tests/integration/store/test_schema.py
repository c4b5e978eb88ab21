"""Migrations say what the models say, in every process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.covers import covers

ROOT = Path(__file__).resolve().parents[3]


@covers("R238")
@pytest.mark.parametrize("seed", ["1", "2"])
def test_no_model_has_changed_without_a_migration(seed: str, state_dir: Path) -> None:
    """`makemigrations` finds nothing to do, whatever the order of sets (R238)."""
    done = subprocess.run(
        [sys.executable, "manage.py", "makemigrations", "--check", "--dry-run"],
        cwd=ROOT,
        env={"PYTHONHASHSEED": seed, "DURABLE_STATE_DIR": str(state_dir), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
