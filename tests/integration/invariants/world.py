"""A small world made by the real store: Turns that wait, fail and finish by a Brain's commits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hands_app.contract.binding import EffectClass, ToolBinding
from hands_app.contract.ids import new_id
from hands_app.contract.strict_json import digest
from sessions_app.contract.backend import (
    Claim,
    Commit,
    Committed,
    EntryDraft,
    Fail,
    Finish,
    FrameDraft,
    Go,
    HostIdentity,
    IntentDraft,
    MessageDraft,
    ModelCallFacts,
    Park,
    ResultDraft,
    text_part,
)
from sessions_app.contract.content import user_input
from sessions_app.contract.identity import DefinitionKey, SessionKey
from sessions_app.contract.status import CallState, EntryKind, StepPhase
from sessions_app.models import Session, Thread, ToolCall, Turn
from sessions_app.store import admission
from sessions_app.store.backend import StoreBackend

if TYPE_CHECKING:
    from sessions_app.contract.identity import ThreadKey
    from sessions_app.ports import Wakeups

BUILD = "build-1"


class Silence:
    """Wake-ups that nobody hears: a hint carries no truth."""

    def ring(self, thread_pk: str, definition: DefinitionKey) -> None:
        """Say nothing."""


def silence() -> Wakeups:
    """Make the wake-ups of these tests."""
    return Silence()


@dataclass
class World:
    """One Session and one Brain, driven by hand."""

    key: SessionKey = field(default_factory=lambda: SessionKey("acme", new_id("ses_")))
    definition: DefinitionKey = field(
        default_factory=lambda: DefinitionKey("reporter", new_id("ver_"))
    )
    store: StoreBackend = field(default_factory=lambda: StoreBackend(BUILD))
    host: HostIdentity = field(init=False)

    def __post_init__(self) -> None:
        """Create the Session and begin the Brain, the only one for its definition."""
        admission.create_session(self.key, self.definition)
        name = new_id("host_")
        self.host = HostIdentity(name, "brain", "box", 1, BUILD, (self.definition,))
        self.store.join(self.host, presence_key=1)

    @property
    def session(self) -> Session:
        """The Session's row."""
        return Session.objects.get(session_id=self.key.session_id)

    @property
    def thread(self) -> Thread:
        """The main Thread's row."""
        return Thread.objects.get(session=self.session, thread_id="main")

    def submitted(self, request: str = "request-1", thread: ThreadKey | None = None) -> Turn:
        """Give a Turn that is QUEUED."""
        where = thread or self.key.thread()
        receipt = admission.submit(where, request, user_input(f"input of {request}"), {})
        return Turn.objects.get(id=receipt.turn_id)

    def claimed(self) -> Claim:
        """Give the claim of what is ready."""
        (claim,) = self.store.claim(self.host, limit=1)
        return claim

    def running(self, request: str = "request-1") -> Claim:
        """Give the claim of a new Turn, RUNNING."""
        self.submitted(request)
        return self.claimed()

    def commit(self, claim: Claim, **asked: object) -> Committed:
        """Commit as the owner."""
        answer = self.store.commit(
            claim, Commit.model_validate({"change_id": new_id("chg_"), **asked})
        )
        assert isinstance(answer, Committed)
        return answer

    def asks_tool(self, claim: Claim, *, route: str = "local", effect: str = "once") -> ToolCall:
        """Store a model outcome that asks for a tool; a local call starts in the same commit."""
        local = route == "local"
        binding = ToolBinding(
            name="write_report", parameters={}, route=route, effect=EffectClass(effect)
        )
        intent = IntentDraft(
            call_id="call-1",
            ordinal=1,
            name="write_report",
            arguments={"service": "checkout"},
            binding=binding.to_json(),
            route=route,
            effect=effect,
            start=local,
        )
        end = Go(phase=StepPhase.TOOL) if local else Park()
        self.commit(claim, **_outcome(1), intents=(intent,), frame=_frame("asked"), end=end)
        return ToolCall.objects.get(turn_id=claim.turn_id)

    def parks_on(self, claim: Claim, *intents: IntentDraft) -> None:
        """Store a model outcome that asks for these calls, and wait for them."""
        self.commit(claim, **_outcome(1), intents=intents, frame=_frame("asked"), end=Park())

    def applies_result(self, claim: Claim, call: ToolCall) -> None:
        """Store a local call's result and a checkpoint that contains it."""
        result = ResultDraft(execution_id=call.id, state=CallState.COMPLETED, content="done")
        self.applies(claim, call, result)

    def applies(self, claim: Claim, call: ToolCall, *results: ResultDraft) -> None:
        """Store a checkpoint that contains the result of a call, given now or received before."""
        item = EntryDraft(kind=EntryKind.ITEMS, body={"result": "done"})
        self.commit(
            claim,
            entries=(item,),
            results=results,
            applied=(call.id,),
            frame=_frame("applied"),
            end=Go(phase=StepPhase.REASONING),
        )

    def answers(self, claim: Claim, ordinal: int) -> Turn:
        """End the Turn with an answer."""
        said = MessageDraft(ordinal=ordinal, parts=(text_part("All is well."),))
        end = Finish(result={"text": "All is well."})
        outcome = _outcome(ordinal)
        self.commit(claim, **outcome, messages=(said,), frame=_frame("finished"), end=end)
        return Turn.objects.get(id=claim.turn_id)

    def finished(self, request: str = "request-1") -> Turn:
        """Give a COMPLETED Turn with two model calls and one local tool call."""
        claim = self.running(request)
        self.applies_result(claim, self.asks_tool(claim))
        return self.answers(claim, 2)

    def backing_off(self, request: str = "request-1") -> Turn:
        """Give a Turn that failed once and waits for its next try."""
        claim = self.running(request)
        end = Fail(error_class="TimeoutError", code="UNAVAILABLE", text="no answer", retryable=True)
        self.commit(claim, end=end)
        return Turn.objects.get(id=claim.turn_id)

    def waiting_for_tool(self, request: str = "request-1") -> ToolCall:
        """Give the open external call of a Turn that waits for it."""
        return self.asks_tool(self.running(request), route="hands")


def _outcome(ordinal: int) -> dict[str, Any]:
    """Make the parts of a commit that store one model outcome."""
    asked = digest({"ordinal": ordinal})
    entry = EntryDraft(
        kind=EntryKind.OUTCOME, body={"reply": ordinal}, ordinal=ordinal, request_digest=asked
    )
    facts = ModelCallFacts(
        ordinal=ordinal, request_digest=asked, model="scripted", input_tokens=7, output_tokens=3
    )
    return {"entries": (entry,), "model_calls": (facts,)}


def _frame(stage: str) -> FrameDraft:
    return FrameDraft(format=1, harness="scripted", framework="none 1", body={"stage": stage})
