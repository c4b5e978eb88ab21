"""Re-pinning: an operator moves a Thread to another version of its agent (R251, R252).

A pin is kept for good, so this is deliberate and rare. What stands against it is listed in full,
for an operator has to remove all of it. Whether the other version's codec can take up the stored
state is asked outside and comes in as `state`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hands_app.contract.strict_json import digest
from sessions_app.contract.events import EventType
from sessions_app.contract.status import Lifecycle
from sessions_app.models import AuditEntry, Checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.identity import DefinitionKey
    from sessions_app.machine.change import Change
    from sessions_app.models import Thread, ToolCall, Turn


@dataclass(frozen=True, slots=True)
class Target:
    """The version to move to: its key, and digests of its tools' bindings by name."""

    key: DefinitionKey
    tools: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Pinned:
    """A Thread as it is found under its Session's lock."""

    thread: Thread
    head: Turn | None
    calls: Sequence[ToolCall]  # of the head, that no checkpoint contains
    checkpoint: Checkpoint | None  # the newest


@dataclass(frozen=True, slots=True)
class Operator:
    """Who moves it and why."""

    actor: str
    reason: str


def objections(found: Pinned, target: Target, state: str | None) -> tuple[str, ...]:
    """All that stands against the move; nothing is written while there is any."""
    return tuple(_objections(found, target, state))


def _objections(found: Pinned, target: Target, state: str | None) -> Iterator[str]:
    thread, pin = found.thread, found.thread.pin
    if thread.status == Lifecycle.CLOSED:
        yield "the thread is closed and runs nothing more"
    if thread.lease_token is not None:
        yield f"host {thread.lease_host} owns it; pause it or let its turn end first"
    if target.key.state_version != pin.state_version:
        yield (
            f"native state of version {pin.state_version} cannot become "
            f"{target.key.state_version}; keep hosts of {pin}"
        )
    if state is not None:
        yield state
    if found.head is not None and found.head.started_at is not None:
        yield from _in_mid_turn(found, target)


def _in_mid_turn(found: Pinned, target: Target) -> Iterator[str]:
    """A begun Turn goes on under the new version only if nothing of it asks for the old one."""
    stored = found.thread.journal_position - found.thread.checkpoint_position
    if stored:
        yield f"{stored} stored outcomes wait to be replayed by the version that asked for them"
    for call in found.calls:
        bound = target.tools.get(call.name)
        if bound is None:
            yield f"tool {call.name} of open call {call.id} is not in {target.key}"
        elif bound != digest(call.binding):
            yield f"tool {call.name} of open call {call.id} is bound otherwise in {target.key}"


def repin(change: Change, found: Pinned, target: Target, operator: Operator) -> None:
    """Move the Thread: the pin, a checkpoint that says so, the event and the record, as one change.

    What other builds refused is forgotten, for the new version has not been looked at.
    """
    thread, before, after = found.thread, found.thread.pin, target.key
    thread.version = after.version
    thread.definition_digest = ""  # the next claim says what the new label stands for
    thread.incompatible_reason = None
    thread.incompatible_builds = []
    thread.incompatible_count = 0
    thread.incompatible_until = None
    change.touch(thread)
    if found.checkpoint is not None:
        change.add(_stamped(change, found.checkpoint, after))
    told: dict[str, JsonValue] = {
        "definition": after.name,
        "version": after.version,
        "stateVersion": after.state_version,
    }
    change.emit(thread.session_id, EventType.THREAD_REPINNED, told, thread=thread)
    change.add(
        AuditEntry(
            id=change.new_id("aud_"),
            session_id=thread.session_id,
            actor=operator.actor,
            action="thread.repin",
            target=thread.id,
            reason=operator.reason,
            before={"version": before.version},
            after={"version": after.version},
            at=change.now,
        )
    )


def _stamped(change: Change, newest: Checkpoint, after: DefinitionKey) -> Checkpoint:
    """The same state under the new pin; the old row stays as it was written."""
    columns = {field.attname: getattr(newest, field.attname) for field in newest._meta.fields}
    fresh = {
        "id": change.new_id("chk_"),
        "ordinal": newest.ordinal + 1,
        "version": after.version,
        "at": change.now,
    }
    return Checkpoint(**{**columns, **fresh})
