"""Kills Brains many times at each place: `python -m tests.crash [--rounds N] [--sqlite]`.

With `--hands` it kills Hands instead, at each place one worker of each effect class in a round. On
a private PostgreSQL with fsync on, unless `--sqlite` is given; `-k` picks a place. Prints the
rounds that held at each place, and the time from the kill to the Turn's next committed fact; of
Hands to the last of four results, or to the doubt that stays.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from durable_site.embedded.servers import start_postgres
from tests.acceptance.crash import FIGURES, ROUNDS

_BRAINS = "tests/acceptance/crash"
_HANDS = "tests/chaos/hands/test_deaths.py"


def main(arguments: list[str]) -> int:
    """Run the rounds and print the table; 0 when every round held."""
    parser = argparse.ArgumentParser(prog="make crash", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--sqlite", action="store_true")
    parser.add_argument("--hands", action="store_true")
    parser.add_argument("-k", dest="place", default="")
    asked = parser.parse_args(arguments)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="durable-crash-")))
        env = {**os.environ, ROUNDS: str(asked.rounds), FIGURES: str(folder / "figures")}
        env["DURABLE_STATE_DIR"] = str(folder / "state")
        env.pop("DATABASE_URL", None)
        if not asked.sqlite:
            env["DATABASE_URL"] = stack.enter_context(start_postgres()).url
        status = _pytest(_HANDS if asked.hands else _BRAINS, asked.place, env, folder)
        _table(folder / "figures")
    return status


def _pytest(tests: str, place: str, env: dict[str, str], folder: Path) -> int:
    command = [sys.executable, "-m", "pytest", "-q", tests, "--timeout", "1800"]
    only = ["-k", place] if place else []
    base = ["--basetemp", str(folder / "temporary")]
    return subprocess.run([*command, *only, *base], env=env, check=False).returncode


def _table(figures: Path) -> None:
    lines = figures.read_text().splitlines() if figures.exists() else []
    print(f"{'killed':<36}{'rounds':>7}{'median':>9}{'min':>8}{'max':>8}   from the kill, s")
    for line in map(json.loads, lines):
        found = line["recovered"]
        times = (
            f"{statistics.median(found):>9.2f}{min(found):>8.2f}{max(found):>8.2f}" if found else ""
        )
        print(f"{line['place']:<36}{line['rounds']:>7}{times}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
