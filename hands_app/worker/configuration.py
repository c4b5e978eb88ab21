"""What a Hands process is told: where things are, and how long they take."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from hands_app.contract import queues
from hands_app.machine.output import MAX_OUTPUT_BYTES

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Configuration:
    """The figures of one process; durations are in seconds.

    `objects_dir` is the folder of the object store that the Brain has too, None for none.
    `rabbitmq_url` goes before `redis_url`; both are empty for the folder broker, which lives below
    `state_dir`. `tools` names modules, comma separated. `slots` is how many tools run at once where
    nobody says it with `--concurrency` (R183). `grace_seconds` is what running tools get when the
    process is told to stop; `output_bytes` is what is kept of the output of one execution.
    `memory_bytes` and `open_files` bound a process that runs tools; 0 leaves them to the system.
    """

    state_dir: Path
    ledger_url: str
    redis_url: str = ""
    rabbitmq_url: str = ""
    namespace: str = queues.DEFAULT_NAMESPACE
    tools: str = ""
    slots: int = 4
    lease_seconds: float = 30.0
    renew_seconds: float = 10.0
    sweep_seconds: float = 0.5
    poll_seconds: float = 0.1
    grace_seconds: float = 20.0
    output_bytes: int = MAX_OUTPUT_BYTES
    memory_bytes: int = 0
    open_files: int = 0
    details_seconds: float = 12 * 3600.0
    prune_seconds: float = 60.0
    objects_dir: Path | None = None

    @property
    def lease(self) -> timedelta:
        """How long a claim holds unless it is renewed."""
        return timedelta(seconds=self.lease_seconds)

    @property
    def renewal(self) -> timedelta:
        """How often claims are renewed."""
        return timedelta(seconds=self.renew_seconds)

    @property
    def details(self) -> timedelta:
        """How long output and request of an ended execution are kept."""
        return timedelta(seconds=self.details_seconds)

    @property
    def updates_queue(self) -> str:
        """The queue that the Brain takes updates from."""
        return queues.updates(self.namespace)

    def make_state_dir(self) -> None:
        """Make the private state folder, if it is missing."""
        self.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
