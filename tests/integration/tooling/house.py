"""Both houses with a person as the broker: envelopes are carried when the test says so."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from hands_app.contract.wire import encode
from sessions_app.contract.backend import Claim, IntentDraft, Park
from sessions_app.models import AuditEntry, Event, Thread, ToolCall, Turn
from sessions_app.store.inbox import StoreInbox
from sessions_app.store.outbox import StoreOutbox
from sessions_app.tooling.dispatch import Dispatch
from sessions_app.tooling.intake import Intake
from sessions_app.transports.celery_delivery import CeleryDelivery
from tests.integration.tooling.pool import HOUSE, Pool, send

if TYPE_CHECKING:
    from hands_app.contract.messages import Update
    from hands_app.contract.strict_json import JsonValue
    from hands_app.contract.tools import Tool
    from sessions_app.tooling.boxes import Objects
    from tests.stores import Store

SOON = timedelta(seconds=5.5)
"""When a call of a test comes to be sent or asked about again."""

_names = itertools.count(1)


class Letter(NamedTuple):
    """One envelope that left the Brain."""

    route: str
    text: str
    control: bool


@dataclass
class Post:
    """An Executor whose letters lie there until they are carried; with `lost` it takes none."""

    capabilities = CeleryDelivery.capabilities

    letters: list[Letter] = field(default_factory=list)
    lost: bool = False

    def send(self, route: str, envelope: str, *, control: bool = False) -> bool:
        """Keep a letter, or say that it was not confirmed."""
        if not self.lost:
            self.letters.append(Letter(route, envelope, control))
        return not self.lost

    def take(self) -> list[Letter]:
        """Give the letters that lie there and leave none."""
        taken, self.letters = self.letters, []
        return taken


@dataclass
class House:
    """The real store and use cases of the Brain, the real pool, and the post between them."""

    store: Store
    pool: Pool
    post: Post = field(default_factory=Post)
    objects: Objects = lambda: None

    def __post_init__(self) -> None:
        """Assemble as the edges do."""
        self.dispatch = Dispatch(StoreOutbox(), self.post, HOUSE, self.objects)
        self.intake = Intake(StoreInbox(), self.post, HOUSE)

    def claimed(self) -> Claim:
        """Claim a new Turn in a Session of its own."""
        name = f"chat-{next(_names)}"
        turn_id = self.store.submit(self.store.session(name))
        return self.store.claim(first=self.store.turn(turn_id).thread_id)

    def asks(self, *intents: IntentDraft, park: bool = True) -> list[ToolCall]:
        """Store what a model asked for in a new Turn, by default one `send`, and let it wait."""
        claim = self.claimed()
        self.store.answered(claim, *(intents or (intent(),)))
        if park:
            self.store.commit(claim, Park())
        return list(ToolCall.objects.filter(turn=claim.turn_id).order_by("ordinal"))

    def ask(self, *, park: bool = True) -> ToolCall:
        """Store one external call."""
        (call,) = self.asks(park=park)
        return call

    def carry_commands(self) -> list[str]:
        """Send what is due and bring every letter to the pool; says what became of each."""
        self.dispatch.due()
        return [self.pool.obey(each.text, control=each.control) for each in self.post.take()]

    def carry_updates(self) -> list[str]:
        """Bring every update to the Brain, in order; says what became of each."""
        return [self.bring(update) for update in self.take_updates()]

    def take_updates(self) -> list[Update]:
        """Give the updates that wait to be carried and leave none."""
        taken = list(self.pool.told)
        self.pool.told.clear()
        return taken

    def bring(self, update: Update) -> str:
        """Bring one update to the Brain."""
        return self.intake.receive(encode(update))

    def admitted(self) -> ToolCall:
        """Give a call whose admission is confirmed."""
        call = self.ask()
        self.carry_commands()
        self.carry_updates()
        return fresh(call)

    def go_on(self, call: ToolCall) -> Claim:
        """Claim the Thread of a call for the next Run."""
        return self.store.claim(first=call.thread_id)


class Courier:
    """An Executor that carries a question to the pool, and the answer back, at once."""

    capabilities = CeleryDelivery.capabilities

    def __init__(self, house: House) -> None:
        self.house = house
        self.sent = 0

    def send(self, route: str, envelope: str, *, control: bool = False) -> bool:
        """Carry both ways."""
        assert route == "hands"
        self.sent += 1
        self.house.pool.obey(envelope, control=control)
        self.house.carry_updates()
        return True


def intent(
    tool: Tool = send,
    arguments: JsonValue = None,
    *,
    call_id: str = "call-1",
    ordinal: int = 0,
) -> IntentDraft:
    """The intent of one call of a tool."""
    return IntentDraft(
        call_id=call_id,
        ordinal=ordinal,
        name=tool.name,
        arguments={"text": "hello"} if arguments is None else arguments,
        binding=tool.binding.to_json(),
        route=tool.binding.route,
        effect=tool.binding.effect.value,
    )


def fresh(call: ToolCall) -> ToolCall:
    """The call's row as it stands."""
    return ToolCall.objects.get(pk=call.pk)


def turn_of(call: ToolCall) -> Turn:
    """The Turn's row as it stands."""
    return Turn.objects.get(pk=call.turn_id)


def thread_of(call: ToolCall) -> Thread:
    """The Thread's row as it stands."""
    return Thread.objects.get(pk=call.thread_id)


def told(call: ToolCall) -> list[str]:
    """The types of the call's public events, in order."""
    events = Event.objects.filter(session=call.session_id, type__startswith="tool.")
    return [
        event.type
        for event in events.order_by("sequence")
        if event.payload["executionId"] == call.pk
    ]


def audited(call: ToolCall) -> list[AuditEntry]:
    """What was noted about the call for operators."""
    return list(AuditEntry.objects.filter(target=call.pk))
