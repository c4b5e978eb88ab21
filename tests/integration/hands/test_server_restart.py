"""The ledger's server goes away and comes back while tools run (S4, I28)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from hands_app.contract.faults import plan
from hands_app.contract.messages import ExecutionState
from hands_app.ledger import schema
from hands_app.ledger.engine import Database
from hands_app.worker.configuration import Configuration
from tests.covers import poses
from tests.integration.hands.examples import until
from tests.integration.hands.hosting import Mailbox, call, remote, serving

if TYPE_CHECKING:
    from pathlib import Path


@poses("S4")
@pytest.mark.postgresql
@pytest.mark.timeout(120)
def test_a_restarted_server_makes_no_running_tool_unknown(
    state_dir: Path, mailbox: Mailbox
) -> None:
    """S4: its locks are free for a moment, but both hosts live; the tool ends as it ended."""
    # Hands are tested without the Brain too, and without servers (tests/independent.py).
    from durable_site.embedded.servers import start_postgres  # noqa: PLC0415 - see above

    released = threading.Event()

    @remote(effect="once")
    def send() -> str:
        released.wait(60)
        return "sent"

    with start_postgres(durable=False) as server:
        url = server.database("hands").replace("postgresql:", "postgresql+psycopg:", 1)
        schema.migrate(database := Database(url))
        database.close()
        quick = Configuration(
            state_dir=state_dir, ledger_url=url, renew_seconds=0.2, sweep_seconds=0.1
        )
        with serving(quick, mailbox) as sweeping, serving(quick, mailbox, send) as host:
            command = call(host, send)
            until(lambda: "started" in mailbox.kinds(command), "the start")

            server.halt()
            server.run()

            renewed = threading.Event()
            with plan({"hands.renew.after_commit": lambda _: renewed.set()}):
                assert renewed.wait(60)
            until(sweeping.keeper._presence.is_held, "the other's own lock")
            released.set()

            assert mailbox.result(command).state is ExecutionState.COMPLETED
            assert (sweeping.sweeper.settled, host.sweeper.settled) == (0, 0)
