"""Messages: the `message.completed` events of each logical message against its row."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from django.db.models import F, TextField
from django.db.models.functions import Cast

from hands_app.contract.strict_json import canonical
from sessions_app.contract.events import EventType
from sessions_app.models import Message
from sessions_app.store.invariants.look import BODIES, Batch, Fact, Look, facts
from sessions_app.store.invariants.report import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator

Version = tuple[int, int]
Text = tuple[Version, bytes]


def grow_only(look: Look) -> Iterator[Breach]:
    """I23: each completion is a later attempt or a higher revision, and the row has the last."""
    for batch in look.batches:
        seen: dict[str, Version] = {}
        for fact in facts(batch, EventType.MESSAGE_COMPLETED):
            name, version = _name(fact), _version(fact)
            if name in seen and version <= seen[name]:
                text = f"completed as {_shown(version)} after {_shown(seen[name])}"
                yield Breach(23, name, text)
            seen[name] = max(version, seen.get(name, version))
        for name, (version, _) in _stored(batch).items():
            if name in seen and version != seen[name]:
                yield Breach(23, name, f"stored as {_shown(version)}, told as {_shown(seen[name])}")


def folded(look: Look) -> Iterator[Breach]:
    """I20: the text that the events add up to is the stored one."""
    for batch in look.batches:
        stored = _stored(batch)
        told = {_name(fact): _digest(fact) for fact in facts(batch, EventType.MESSAGE_COMPLETED)}
        for name in told.keys() & stored.keys():
            if told[name] != stored[name][1]:
                yield Breach(
                    20, name, "its stored parts differ from those that its event completed"
                )


def _stored(batch: Batch) -> dict[str, Text]:
    """Digests instead of texts: many texts are large."""
    rows = Message.objects.filter(batch.within()).order_by("id")
    raw = rows.annotate(raw=Cast(F("parts"), TextField()))
    columns = raw.values_list("id", "attempt", "revision", "raw").iterator(chunk_size=BODIES)
    return {
        name: ((attempt, revision), _sum(text.encode()))
        for name, attempt, revision, text in columns
    }


def _name(fact: Fact) -> str:
    return str(fact.payload.get("messageId"))


def _version(fact: Fact) -> Version:
    attempt, revision = fact.payload.get("attempt"), fact.payload.get("revision")
    return (
        attempt if isinstance(attempt, int) else 0,
        revision if isinstance(revision, int) else 0,
    )


def _digest(fact: Fact) -> bytes:
    return _sum(canonical(fact.payload.get("parts")))


def _sum(text: bytes) -> bytes:
    return sha256(text).digest()


def _shown(version: Version) -> str:
    return f"attempt {version[0]}, revision {version[1]}"
