"""A field of real workers over the test's database, whose broker the test may break."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from durable_site.demo import oracle
from durable_site.embedded.roles import CHECKOUT
from hands_app.ledger import schema
from hands_app.ledger.engine import Database
from sessions_app.models import ToolCall, Turn
from sessions_app.store.invariants import check
from tests.acceptance.processes import read_line
from tests.integration.brain.farm import Farm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from tests.chaos.brokers import Broker
    from tests.stores import Store

Plan: TypeAlias = "list[tuple[str, str]]"
"""Session and text of each Turn, in the order of their submission."""

PATIENCE: Final = 120.0
TIMEOUT: Final = 180.0
"""Of one whole test on a machine that is busy with something else."""
_LOOK_SECONDS: Final = 0.05
NAMESPACE: Final = "acme"
_QUIET: Final = ("--without-gossip", "--without-mingle", "--without-heartbeat")
_numbers = itertools.count(1)


def until(condition: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """Return the first true answer of the condition; fail when the deadline comes first."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        pause.wait(_LOOK_SECONDS)
    return answer


@dataclass
class Field:
    """Workers, a way to submit from outside, and the oracle of effects."""

    store: Store
    folder: Path
    broker: Broker
    farm: Farm = field(init=False)
    _clerk: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        """Point every process at the test's database and broker."""
        environment = {
            "DJANGO_SETTINGS_MODULE": "tests.chaos.crew.settings",
            "DURABLE_HANDS_TOOLS": "tests.chaos.crew.tools",
            "DURABLE_DEMO_ORACLE": str(self._oracle),
            "DURABLE_BRAIN_SLOTS": "4",
            "CREW_FOLDER": str(self.folder),
            "HANDS_DATABASE_URL": f"sqlite:///{self.folder}/hands.sqlite3",
            **self.broker.environment,
        }
        self.farm = Farm(self.store, self.folder, environment)

    @property
    def _oracle(self) -> Path:
        return self.folder / "effects"

    def brain(self, **env: str) -> subprocess.Popen[bytes]:
        """Start a Brain and wait until it has joined; its broker may be away."""
        name = f"brain-{next(_numbers)}@here"
        return self.farm.worker("threads", "-n", name, *_QUIET, env=env)

    def hands(self) -> None:
        """Start Hands, for commands and controls alike, and the intake of what they report."""
        ledger = Database(self.farm.site.environment["HANDS_DATABASE_URL"])
        schema.migrate(ledger)
        ledger.close()
        both = ("durable.hands.commands", "durable.hands.controls")
        started = [self._role("hands_app.celery", ",".join(both)), self._intake()]
        for process in started:
            self.is_ready(process)

    def intake(self) -> None:
        """Start the intake of what Hands report."""
        self.is_ready(self._intake())

    def _intake(self) -> subprocess.Popen[bytes]:
        return self._role("durable_site", "durable.updates")

    def _role(self, app: str, queues: str) -> subprocess.Popen[bytes]:
        command = ("-m", "celery", "-A", app, "worker", "-Q", queues)
        node = ("--pool", "threads", "-n", f"role-{next(_numbers)}@here", "-c", "2")
        return self.farm.site.start((*command, *node, "-l", "INFO", *_QUIET))

    def is_ready(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until a worker takes messages from its broker."""
        until(lambda: self.farm._alive(process) and "ready." in self.log(process), PATIENCE)

    def submit(self, plan: Plan, namespace: str = NAMESPACE) -> list[float]:
        """Submit from a process of its own; gives the seconds that each submit took."""
        if self._clerk is None:
            self._clerk = self._hire()
        assert self._clerk.stdin is not None
        self._clerk.stdin.write(f"{json.dumps([namespace, plan])}\n".encode())
        self._clerk.stdin.flush()
        took: list[float] = json.loads(read_line(self._clerk, PATIENCE))
        return took

    def _hire(self) -> subprocess.Popen[bytes]:
        command = (sys.executable, "-m", "tests.chaos.clerk")
        env = self.farm.site.environment
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=CHECKOUT, env=env, stdin=pipe, stdout=pipe)

    def all_end(self, count: int, namespace: str = NAMESPACE, seconds: float = PATIENCE) -> None:
        """Wait until so many Turns have ended."""
        ended = Turn.objects.filter(session__namespace=namespace, finished_at__isnull=False)
        until(lambda: self._all_live() and ended.count() >= count, seconds)
        assert ended.count() == count

    def effects(self) -> Mapping[str, int]:
        """How often each execution had its effect."""
        return Counter(key for _, key in oracle.effects(self._oracle))

    def each_effect_once(self, tools: Iterable[str]) -> None:
        """Every call of these tools had exactly one effect."""
        effects = self.effects()
        calls = ToolCall.objects.filter(name__in=list(tools)).values_list("id", flat=True)
        assert {call: effects.get(call, 0) for call in calls} == dict.fromkeys(calls, 1)

    def hold(self, what: str = "hold") -> None:
        """Make `hold` requests (or the tool `slow`) wait until `let_go`."""
        (self.folder / what).touch()

    def holds(self) -> None:
        """Wait until a request is held."""
        until((self.folder / "held").exists, PATIENCE)

    def let_go(self, what: str = "hold") -> None:
        """Let them go on."""
        (self.folder / what).unlink(missing_ok=True)

    def log(self, process: subprocess.Popen[bytes]) -> str:
        """What a process printed so far."""
        return self.farm.site.log(process)

    def verdict(self) -> None:
        """The whole database keeps every invariant, the oracle's view included."""
        self._oracle.touch()
        report = check(oracle=self._oracle)
        assert report.is_clean, report.breaches[:5]

    def _all_live(self) -> bool:
        """No worker ended unless the test has waited for its end."""
        for process in self.farm.site.processes:
            assert process.returncode is not None or process.poll() is None, self.log(process)
        return True

    def close(self) -> None:
        """End everything."""
        self.let_go()
        self.let_go("slow")
        if self._clerk is not None:
            self._clerk.communicate(timeout=PATIENCE)  # it ends with its input
        self.farm.site.close()
