"""Admission: a Session, a Thread, a Turn come into being exactly once (R025, R029 to R033)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sessions_app.contract.errors import Closed, Conflict
from sessions_app.contract.events import EventType
from sessions_app.contract.policy import SubmitOutcome, SubmitPolicy
from sessions_app.contract.status import Lifecycle
from sessions_app.contract.views import Receipt
from sessions_app.machine import inputs, receipts
from sessions_app.machine.control_table import Operation
from sessions_app.machine.messages import user_message
from sessions_app.models import Session, Thread, Turn

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.content import UserInput
    from sessions_app.contract.identity import DefinitionKey, SessionKey
    from sessions_app.machine.change import Change


@dataclass(frozen=True, slots=True)
class Limits:
    """What one Turn may cost over all its Runs (R062).

    No rounds: nobody here knows the definition, whose limits come with the first claim.
    """

    rounds: int | None = None
    tokens: int | None = None


SUBMIT: Final = "submit"


@dataclass(frozen=True, slots=True)
class Submission:
    """A request to run one Turn."""

    request_id: str
    input: UserInput
    thread_id: str
    policy: SubmitPolicy = SubmitPolicy.QUEUE
    limits: Limits = Limits()

    @property
    def digest(self) -> str:
        """Of target, operation, policy and canonical content.

        The same request has the same digest everywhere (R030).
        """
        return submit_digest(self.thread_id, self.input.wire(), self.policy)


def submit_digest(thread_id: str, content: JsonValue, policy: SubmitPolicy) -> str:
    """Digest under which a submission takes its request id."""
    return receipts.command_digest(SUBMIT, thread_id, {"input": content, "policy": policy.value})


def new_session(change: Change, key: SessionKey) -> Session:
    """A Session; its main Thread comes in the same transaction (R025)."""
    session = Session(
        id=change.new_id("ses_"),
        namespace=key.namespace,
        session_id=key.session_id,
        created_at=change.now,
    )
    change.add(session)
    change.emit(
        session.id,
        EventType.SESSION_CREATED,
        {"namespace": key.namespace, "sessionId": key.session_id},
    )
    return session


def new_thread(
    change: Change, session: Session, thread_id: str, definition: DefinitionKey
) -> Thread:
    """A Thread, pinned to its definition for good."""
    if session.status == Lifecycle.CLOSED:
        msg = f"session {session.key} is closed; create another session"
        raise Closed(msg)
    thread = Thread(
        id=change.new_id("thr_"),
        session=session,
        thread_id=thread_id,
        namespace=session.namespace,
        definition=definition.name,
        version=definition.version,
        state_version=definition.state_version,
        created_at=change.now,
    )
    change.add(thread)
    payload: dict[str, JsonValue] = {
        "definition": definition.name,
        "version": definition.version,
        "stateVersion": definition.state_version,
    }
    change.emit(session.id, EventType.THREAD_CREATED, payload, thread=thread)
    return thread


def same_thread(thread: Thread, definition: DefinitionKey) -> Thread:
    """An identical create gives the Thread back; another definition is a conflict (R026)."""
    if thread.pin != definition:
        msg = (
            f"thread {thread.thread_id} is pinned to {thread.pin}; it "
            f"cannot be created again as {definition}"
        )
        raise Conflict(msg)
    return thread


def course(asked: Submission, head: Turn | None) -> SubmitOutcome:
    """What the policy comes to, given the first unfinished Turn of the Thread.

    Only a Turn that still goes on is steered or replaced. Raises Conflict for `reject`.
    """
    if head is None or asked.policy == SubmitPolicy.QUEUE:
        return SubmitOutcome.QUEUED
    if asked.policy == SubmitPolicy.REJECT:
        msg = (
            f"thread {asked.thread_id} has the unfinished turn {head.id}, which is {head.status}; "
            "wait for its end, or submit with another policy"
        )
        raise Conflict(msg)
    if head.cancel_request is not None or head.failed_for_good:
        return SubmitOutcome.QUEUED
    if asked.policy == SubmitPolicy.REPLACE:
        return SubmitOutcome.REPLACED
    return SubmitOutcome.QUEUED if head.started_at is None else SubmitOutcome.STEERED


def steer(change: Change, session: Session, head: Turn, asked: Submission) -> Receipt:
    """Give the input to the Turn that has begun, instead of making a new one."""
    first = session.last_sequence + change.events_of(session.id) + 1
    given = inputs.give(change, head, Operation.STEER, asked.request_id, asked.input)
    receipt = Receipt(
        asked.request_id,
        SUBMIT,
        head.id,
        asked.thread_id,
        first,
        SubmitOutcome.STEERED,
        given.subject,
    )
    return receipts.take(change, session, head, asked.digest, receipt)


def submit(
    change: Change,
    session: Session,
    thread: Thread,
    asked: Submission,
    replaced: Turn | None = None,
) -> Receipt:
    """Admit a Turn: the Turn, the user's message, the receipt and the events are one change."""
    if Lifecycle.CLOSED in {session.status, thread.status}:
        what = (
            f"session {session.key}"
            if session.status == Lifecycle.CLOSED
            else f"thread {thread.thread_id}"
        )
        msg = f"{what} is closed and takes no more turns; create another one"
        raise Closed(msg)
    session.last_ordinal += 1
    turn = Turn(
        id=change.new_id("turn_"),
        session=session,
        thread=thread,
        ordinal=session.last_ordinal,
        request_id=asked.request_id,
        input=asked.input.wire(),
        input_digest=asked.input.digest,
        round_limit=asked.limits.rounds,
        token_limit=asked.limits.tokens,
        created_at=change.now,
    )
    change.touch(thread)
    change.add(turn)
    first = session.last_sequence + change.events_of(session.id) + 1
    payload: dict[str, JsonValue] = {"requestId": asked.request_id, "ordinal": turn.ordinal}
    change.emit(session.id, EventType.TURN_ADMITTED, payload, turn=turn)
    user_message(change, turn, asked.input, SUBMIT, asked.request_id)
    receipt = Receipt(
        asked.request_id,
        SUBMIT,
        turn.id,
        thread.thread_id,
        first,
        SubmitOutcome.QUEUED if replaced is None else SubmitOutcome.REPLACED,
        None if replaced is None else replaced.id,
    )
    return receipts.take(change, session, turn, asked.digest, receipt)
