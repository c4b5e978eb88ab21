"""Tests the Hands house where nothing else is: `python -m tests.independent <python> [arguments]`.

The interpreter has what `hands_app/requirements.txt` brings, and pytest. A copy of the Hands house
and of its tests stands in a folder of its own, without the Brain and without Django (R273).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import dedent
from typing import Final

_ROOT = Path(__file__).resolve().parent.parent
_NO_TESTS: Final = 5
_TAKEN: Final = (
    *("pyproject.toml", "hands_app"),
    *("tests/__init__.py", "tests/covers.py", "tests/legs.py", "tests/rabbitmq.py"),
    "tests/unit/hands",
    *(f"tests/integration/hands/{name}.py" for name in ("conftest", "examples", "hosting")),
    *(f"tests/integration/hands/{name}.py" for name in ("workers", "oracle_tools", "test_cli")),
    *(f"tests/integration/hands/test_{name}.py" for name in ("ledger", "ledger_work", "host")),
)
_CONFTEST: Final = '''
"""What a test of Hands may ask for where there is no Brain."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest_plugins = ["tests.legs"]


@pytest.fixture
def state_dir() -> Iterator[Path]:
    """Give a private state folder (mode 0700) with a short path and a space in it."""
    with tempfile.TemporaryDirectory(prefix="durable state-") as folder:
        yield Path(folder)
'''
_ALONE: Final = """
    import pkgutil, sys, threading
    from importlib import import_module
    from importlib.util import find_spec

    sys.path.insert(0, sys.argv[1])
    beside = [name for name in ("django", "sessions_app", "durable_site") if find_spec(name)]
    assert not beside, f"there is more than Hands: {beside}"
    import hands_app
    for module in pkgutil.walk_packages(hands_app.__path__, "hands_app."):
        if module.name.rpartition(".")[2] not in ("__main__", "env"):
            import_module(module.name)
    assert threading.active_count() == 1, f"importing began something: {threading.enumerate()}"
    tools = {"pytest", "_pytest", "hypothesis", "xdist"} & set(sys.modules)
    assert not tools, f"the house uses what only its tests have: {tools}"
"""
"""Imports each module of the house, in an interpreter that finds nothing else of ours."""


def main(python: str, arguments: list[str]) -> int:
    """Run the tests; the exit status is pytest's, or 1 when the house does not stand alone."""
    python = str(Path(python).absolute())  # the link itself, since its target has no packages
    with tempfile.TemporaryDirectory(prefix="durable-hands-") as folder:
        _copy(Path(folder))
        env = _environment(Path(folder))
        alone = [python, "-W", "error", "-c", dedent(_ALONE), folder]
        if subprocess.run(alone, cwd=folder, env=env, check=False).returncode:
            return 1
        chosen = those_here(arguments, Path(folder))
        if chosen is None:
            return _NO_TESTS
        tests = [python, "-m", "pytest", *chosen]
        return subprocess.run(tests, cwd=folder, env=env, check=False).returncode


def _copy(folder: Path) -> None:
    for name in _TAKEN:
        source, target = _ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, target)
    (folder / "tests/conftest.py").write_text(_CONFTEST)


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment without what leads back into the checkout or to other databases."""
    away = {"PYTHONPATH", "DATABASE_URL", "HANDS_DATABASE_URL", "REDIS_URL", "RABBITMQ_URL"}
    away |= {"DJANGO_SETTINGS_MODULE", "DURABLE_HANDS_TOOLS"}
    kept = {key: value for key, value in os.environ.items() if key not in away}
    return {**kept, "DURABLE_STATE_DIR": str(folder / "state")}


def those_here(arguments: list[str], folder: Path) -> list[str] | None:
    """Leave out paths of tests that are not ours; None when nothing is left of those asked for."""
    paths = [each for each in arguments if (_ROOT / each.partition("::")[0]).exists()]
    here = [each for each in paths if (folder / each.partition("::")[0]).exists()]
    if paths and not here:
        return None
    return [each for each in arguments if each not in paths or each in here]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
