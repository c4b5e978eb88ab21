"""Runs the suite leg by leg: `python -m tests.run [pytest arguments]`.

The last line sums the legs: `N passed, N failed`. The line before it names each leg not run.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import psutil

from durable_site.embedded.servers import ServerError, start_postgres, start_redis
from tests import rabbitmq
from tests.legs import ONLY_DATABASE, REQUIRED_LEGS, RESULT_FILE

_ROOT = Path(__file__).resolve().parent.parent
_LEG_SECONDS = 1800.0
_GRACE_SECONDS = 20.0
_LEFTOVER_SECONDS = 5.0
_MARK = "DURABLE_TEST_RUN"
_NO_TESTS = 5
_HANDS = "DURABLE_TEST_HANDS"
_LATER_LEGS = ("chromium", "faketime")
_SITE_VARIABLES = frozenset(
    {"DATABASE_URL", "REDIS_URL", "RABBITMQ_URL", "HANDS_DATABASE_URL"}
    | {"DURABLE_MODE", "DURABLE_FAULTS"}
)


@dataclass
class Tally:
    """What became of the tests so far."""

    passed: int = 0
    failed: int = 0
    ran: int = 0

    def add(self, name: str, status: int, result: Path) -> None:
        """Add a leg; one that died without a result counts as one failed test."""
        if status == _NO_TESTS:
            return
        self.ran += 1
        if not result.exists():
            print(f"{name}: pytest ended with {status} and no result", flush=True)
            self.failed += 1
            return
        counts = json.loads(result.read_text())
        self.passed += counts["passed"]
        self.failed += counts["failed"] or (1 if status else 0)


def main(arguments: list[str]) -> int:
    """Run the legs and return the exit status: 0 when every test of every leg passed."""
    signal.signal(signal.SIGTERM, _stop)
    # A shell ignores it for what runs in its background; tests that send it need it everywhere.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tally, missing = Tally(), dict.fromkeys(_LATER_LEGS, "no test needs it yet")
    if not rabbitmq.is_installed():
        missing["rabbitmq"] = "rabbitmq-server is not installed"
    with _state_folder() as folder:
        if alone := os.environ.get(_HANDS):
            runner = [sys.executable, "-m", "tests.independent", alone]
            _run_leg("independent", {}, arguments, folder, tally, runner)
        else:
            missing["independent"] = f"{_HANDS} names no interpreter"
        _run_leg("sqlite", {}, arguments, folder, tally)
        try:
            with _servers() as urls:
                _run_leg("postgres", urls, arguments, folder, tally)
        except ServerError as error:
            missing["postgres"] = str(error)
            missing["rabbitmq"] = "its tests run beside PostgreSQL"
    return _report(tally, missing)


def _run_leg(
    name: str,
    urls: Mapping[str, str],
    arguments: list[str],
    folder: Path,
    tally: Tally,
    runner: Sequence[str] = (sys.executable, "-m", "pytest"),
) -> None:
    print(f"--- {name}", flush=True)
    state, result, temporary = folder / name, folder / f"{name}.json", folder / f"{name}-tmp"
    temporary.mkdir()
    env = {key: value for key, value in os.environ.items() if key not in _SITE_VARIABLES}
    env |= {"DURABLE_STATE_DIR": str(state), "TMPDIR": str(temporary), _MARK: str(folder)}
    env |= {RESULT_FILE: str(result), **urls}
    base = ["--basetemp", str(temporary / "pytest")]
    command = [*runner, *base, *_workers(), *arguments]
    leg = subprocess.Popen(command, cwd=_ROOT, env=env, stdin=subprocess.DEVNULL)
    try:
        status = leg.wait(_LEG_SECONDS)
    except subprocess.TimeoutExpired:
        print(f"{name}: not done after {_LEG_SECONDS:.0f} s", flush=True)
        status = _end(leg)
    except BaseException:
        _end(leg)
        _end_leftovers(folder)
        raise
    tally.add(name, status, result)
    tally.failed += _end_leftovers(folder)


def _workers() -> list[str]:
    count = os.environ.get("DURABLE_TEST_WORKERS", "2")
    return ["-q", "-n", count] if count != "0" else ["-q"]


def _end(leg: subprocess.Popen[bytes]) -> int:
    leg.terminate()
    try:
        return leg.wait(_GRACE_SECONDS) or 1
    except subprocess.TimeoutExpired:
        leg.kill()
        return leg.wait()


def _end_leftovers(folder: Path) -> int:
    """End the processes that tests have left running, name them and return their number."""
    psutil.wait_procs(list(_marked(folder)), _LEFTOVER_SECONDS)
    found = list(_marked(folder))
    for process in found:
        with suppress(psutil.NoSuchProcess):
            print("left running:", process.pid, *process.cmdline()[:6], flush=True)
            process.kill()
    return len(found)


def _marked(folder: Path) -> Iterator[psutil.Process]:
    """Yield every process that descends from a leg, by the mark in its environment."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(_MARK) == str(folder):
                yield process


@contextmanager
def _servers() -> Iterator[Mapping[str, str]]:
    """Start a private PostgreSQL and Redis; raises ServerError when one cannot be had."""
    with ExitStack() as stack:
        postgres = stack.enter_context(start_postgres(durable=False))
        redis = stack.enter_context(start_redis())
        yield {"DATABASE_URL": postgres.url, "REDIS_URL": redis.url, ONLY_DATABASE: "1"}


@contextmanager
def _state_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="durable-test-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _report(tally: Tally, missing: Mapping[str, str]) -> int:
    required = os.environ.get(REQUIRED_LEGS, "").split()
    tally.failed += sum(leg in missing for leg in required)
    if tally.ran == 0:
        tally.failed += 1
        print("no test was selected")
    notes = [f"{leg} ({reason})" for leg, reason in missing.items()]
    print("legs not run:", ", ".join(notes) or "none")
    print(f"{tally.passed} passed, {tally.failed} failed", flush=True)
    return 1 if tally.failed else 0


def _stop(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
