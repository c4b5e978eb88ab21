"""Output of external calls: questions for pages, and the answers that wait to be read (R190, R191).

The Brain keeps how much there is and no byte of it. Who asks leaves a row, Hands answers over the
queues, whatever process takes the answer in puts it into the row, and who asked takes it away. So
it needs no ledger that the Brain can reach.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from hands_app.contract.ids import new_id
from hands_app.contract.output import Gap, OutputPage
from sessions_app.contract.errors import Conflict, Invalid, NotFound
from sessions_app.contract.status import SETTLED_CALLS
from sessions_app.contract.views import OutputView
from sessions_app.machine import intake
from sessions_app.models import OutputQuestion, ToolCall
from sessions_app.store import clock
from sessions_app.store.looking import look
from sessions_app.store.transaction import run
from sessions_app.tooling.boxes import Question

if TYPE_CHECKING:
    from collections.abc import Collection

    from sessions_app.store.unit import Unit

KEPT: Final = timedelta(minutes=10)
"""How long an answer waits for whoever asked; then the next one who asks takes it away."""
_AT_ONCE: Final = 100
_KEEP_NONE: Final = frozenset({"local", "manual", "signal"})
_Taken: TypeAlias = Literal["applied", "duplicate"]


def ask(
    turn_id: str, name: str, offset: int, limit: int, *, inside: Collection[str] = ()
) -> Question | OutputView:
    """Leave a question for a page of a call, named by its execution id or the model's call id.

    Gives the page at once where nobody has to be asked: behind the end of what is sealed, and of a
    call that never left. Of routes `inside` of Brains one of these sends the question. Raises
    NotFound, Invalid, Unavailable, and Conflict where none is kept.
    """
    call = _call(turn_id, name)
    if _has_nothing(call, offset):
        sealed = call.state in SETTLED_CALLS
        return OutputView(offset, offset, available=call.output_bytes, sealed=sealed)
    question = Question(new_id("cmd_"), call.pk, call.route, call.request_digest, offset, limit)

    def body(unit: Unit) -> None:
        unit.lock_session(call.session_id)
        unit.change.add(
            OutputQuestion(
                id=question.command_id,
                session_id=call.session_id,
                call_id=call.pk,
                offset=offset,
                limit=limit,
                asked_at=unit.now,
                sent_at=None if call.route in inside else unit.now,
            )
        )

    _forget_old()
    run("hands.output", body)
    return question


class StoreQuestions:
    """Implements `tooling.boxes.Questions`."""

    def take(self) -> list[Question]:
        """See the protocol."""
        return [_question(row) for row in _unsent() if _mark_sent(row)]


def answer(call: ToolCall, page: OutputPage) -> _Taken:
    """Put a page into the question that it answers; one that nobody asks for goes nowhere."""

    def body(unit: Unit) -> _Taken:
        unit.lock_session(call.session_id)
        asked = OutputQuestion.objects.filter(
            pk=page.command_id, call=call.pk, offset=page.offset, answered_at=None
        )
        answered = asked.update(page=page.to_json(), answered_at=unit.now)
        return "applied" if answered else "duplicate"

    try:
        return run("hands.output", body)
    except NotFound:  # its Session was purged meanwhile
        return "duplicate"


def take(question: Question) -> OutputView | None:
    """The answer, if it came; its row goes with it."""
    page = _answer(question.command_id)
    if page is None:
        return None
    OutputQuestion.objects.filter(pk=question.command_id).delete()
    return _view(page, _known(question.execution_id))


@look
def _call(turn_id: str, name: str) -> ToolCall:
    calls = ToolCall.objects.filter(turn=turn_id)
    found = list(calls.filter(pk=name)) or list(calls.filter(call_id=name)[:2])
    if not found:
        msg = f"turn {turn_id} has no call {name}"
        raise NotFound(msg)
    if len(found) > 1:
        msg = f"{name} names several calls of turn {turn_id}; give the execution id (C52)"
        raise Invalid(msg)
    if found[0].route in _KEEP_NONE:
        msg = f"call {name} is {found[0].route}; output is kept of calls that run in Hands"
        raise Conflict(msg)
    return found[0]


def _has_nothing(call: ToolCall, offset: int) -> bool:
    """Whether the row itself says that there is nothing at the offset.

    Hands tells of output before it tells of a result, so a result without is the last word.
    """
    if not intake.may_be_sent(call):
        return True
    return call.state in SETTLED_CALLS and offset >= call.output_bytes


@look
def _unsent() -> list[OutputQuestion]:
    fresh = OutputQuestion.objects.filter(sent_at=None, asked_at__gte=clock.now() - KEPT)
    return list(fresh.select_related("call").order_by("asked_at")[:_AT_ONCE])


def _mark_sent(row: OutputQuestion) -> bool:
    """Whether this process is the one that sends it."""
    mine = OutputQuestion.objects.filter(pk=row.pk, sent_at=None)
    return mine.update(sent_at=clock.now()) == 1


def _question(row: OutputQuestion) -> Question:
    call = row.call
    return Question(row.pk, call.pk, call.route, call.request_digest, row.offset, row.limit)


@look
def _answer(command_id: str) -> OutputPage | None:
    found = OutputQuestion.objects.filter(pk=command_id).values_list("page", flat=True).first()
    return None if found is None else OutputPage.model_validate(found, strict=False)


@look
def _known(execution_id: str) -> int:
    return ToolCall.objects.values_list("output_bytes", flat=True).get(pk=execution_id)


def _view(page: OutputPage, known: int) -> OutputView:
    """The page as readers see it; what a ledger knew once and has no more is a gap."""
    if page.available < known and page.next == page.offset < known:
        lost = known - page.offset
        return OutputView(
            page.offset, known, gap=Gap.EXPIRED, lost=lost, available=known, sealed=True
        )
    lost_bytes = page.next - page.offset
    return OutputView(
        offset=page.offset,
        next=page.next,
        data=page.bytes,
        gap=None if page.gap is None else page.gap.value,
        lost=lost_bytes if page.gap is not None and page.gap.has_known_size else None,
        attempt=page.attempt,
        available=page.available,
        sealed=page.sealed,
    )


def _forget_old() -> None:
    old = OutputQuestion.objects.filter(asked_at__lt=clock.now() - KEPT).order_by("asked_at")
    names = list(old.values_list("pk", flat=True)[:_AT_ONCE])
    if names:
        OutputQuestion.objects.filter(pk__in=names).delete()
