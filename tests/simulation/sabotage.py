"""Breaking the product on purpose: a check that was never seen to fail proves little.

Each sabotage is one text of one function replaced by another. `make sim ARGS=--sabotage` breaks one
after the other and plays seeds until one of them fails.
"""

from __future__ import annotations
import __future__

import inspect
import textwrap
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from sessions_app.machine import admission as admitting
from sessions_app.machine import asking, controls, intake, recording, settling
from sessions_app.store import admission, commands, commits, hosts, rows, scans
from sessions_app.store.unit import Unit

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Sabotage:
    """In `owner.name`, `text` becomes `instead`."""

    owner: Any
    name: str
    text: str
    instead: str = "if False:"


SABOTAGES: Final = {
    "no token is compared": Sabotage(
        commits,
        "commit",
        "if turn.thread.lease_token != claim.token or turn.run_id != claim.run_id:",
    ),
    "a commit that arrived is done again": Sabotage(
        commits, "commit", "if turn.last_change == asked.change_id:"
    ),
    "a renewal does not look at its row count": Sabotage(
        hosts, "_renew", '"renewed" if count else "superseded"', '"renewed"'
    ),
    "wake_at is set by hand": Sabotage(
        Unit, "_wake_one", "thread.wake_at = wake_at(", "thread.wake_at = self.now or wake_at("
    ),
    "a sequence is left out": Sabotage(
        Unit,
        "_numbered",
        "session.last_sequence += 1",
        'session.last_sequence += 1 + (draft.type == "signal.withdrawn")',
    ),
    "resume does not look at the revision": Sabotage(
        controls, "resume", "if turn.revision != expected_revision:"
    ),
    "resume forgets the failures": Sabotage(
        controls,
        "resume",
        "turn.pause_request = None",
        "turn.pause_request, turn.failures = None, 0",
    ),
    "a finish beats a cancel": Sabotage(
        settling, "_finish", "if rows.turn.cancel_request is not None:"
    ),
    "a pause does not take hold": Sabotage(
        settling, "_rest", "if rows.turn.status == TurnStatus.PAUSING:"
    ),
    "an input stays pending when it was applied": Sabotage(
        recording,
        "inputs_applied",
        "signal.status = SignalStatus.APPLIED",
        "signal.status = SignalStatus.PENDING",
    ),
    "a control is admitted twice": Sabotage(commands, "admit", "if command is not None:"),
    "a submission is admitted twice": Sabotage(admission, "submit", "if known is not None:"),
    "a closed Thread takes Turns": Sabotage(
        admitting,
        "submit",
        "if Lifecycle.CLOSED in {session.status, thread.status}:",
    ),
    "the last Turn runs first": Sabotage(
        rows, "head_of", 'order_by("ordinal")', 'order_by("-ordinal")'
    ),
    "a gap in scanning gives no grace": Sabotage(scans, "in_grace", "return True", "return False"),
    "updates count in any order": Sabotage(
        intake, "take", "if update.sequence > call.inbox_position + 1:"
    ),
    "a denied call begins": Sabotage(asking, "decide", "if decision.allow:", "if True:"),
    "questions never expire": Sabotage(
        asking,
        "expire",
        "if asked.expires_at is None or asked.expires_at > change.now:",
        "if True:",
    ),
}


@contextmanager
def broken(name: str) -> Iterator[None]:
    """Have the product broken in this way for the length of the block."""
    asked = SABOTAGES[name]
    function = getattr(asked.owner, asked.name)
    source = textwrap.dedent(inspect.getsource(function))
    if asked.text not in source:
        msg = f"{asked.name} has no {asked.text!r} any more: say anew how to break it"
        raise LookupError(msg)
    flags = __future__.annotations.compiler_flag
    changed = source.replace(asked.text, asked.instead)
    code = compile(changed, f"<{name}>", "exec", flags, dont_inherit=True)
    made: dict[str, Any] = {}
    exec(code, function.__globals__, made)  # noqa: S102 - our own text
    with mock.patch.object(asked.owner, asked.name, made[asked.name]):
        yield
