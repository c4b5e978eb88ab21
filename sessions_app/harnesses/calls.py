"""Tool calls as both kernels see them: who runs one, and what the model is shown of its outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hands_app.contract.binding import ApprovalPolicy, ToolBinding
from hands_app.contract.sizes import reaches, truncated
from hands_app.contract.strict_json import OBJECT, canonical
from sessions_app.contract.backend import CallFacts, IntentDraft
from sessions_app.contract.status import SETTLED_CALLS, CallState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.ports import ToolReturn

IN_PROCESS: Final = frozenset({"local"})
NOT_EXECUTED: Final = "This call was not executed."
UNCERTAIN: Final = "Whether this call was executed is not known."
RETRY: Final = "MODEL_RETRY"
LARGEST_SHOWN: Final = 4 * 1024 * 1024
"""Bytes of a result that a model is shown; of a longer one it is told size, digest and beginning.

The store keeps all of it (R209).
"""
_LONGEST_ESCAPE: Final = 6

_WITHOUT_RESULT: Final = {
    CallState.FAILED: "The call failed.",
    CallState.DENIED: "The call was refused by a person.",
    CallState.CANCELLED: "The call was cancelled.",
    CallState.NOT_EXECUTED: NOT_EXECUTED,
}


@dataclass(frozen=True, slots=True)
class Shown:
    """What the model is shown of a settled call."""

    content: JsonValue
    state: CallState
    code: str | None = None

    @property
    def failed(self) -> bool:
        """Whether the model has to read it as an error."""
        return self.state != CallState.COMPLETED

    @property
    def text(self) -> str:
        """The content in words."""
        return self.content if isinstance(self.content, str) else canonical(self.content).decode()


def shown(facts: CallFacts) -> Shown | None:
    """The result of a call, the same in every replay; None while it is open or UNKNOWN (law 7)."""
    if facts.state not in SETTLED_CALLS:
        return None
    content, text = _stored(facts.result)
    return _shown(facts.state, content, text)


def returned(outcome: ToolReturn) -> Shown:
    """The same of a call that has just run here and whose result is about to be stored."""
    state = CallState.COMPLETED if outcome.error_code is None else CallState.FAILED
    return _shown(state, outcome.content, outcome.error_text)


def _shown(state: CallState, content: JsonValue, text: str | None) -> Shown:
    if state == CallState.COMPLETED:
        return Shown(_readable(content), state)
    if text is None:
        return Shown(_WITHOUT_RESULT[state] if content is None else content, state)
    match content:
        case {"code": str() as code}:
            return Shown(text, state, code)
        case _:
            return Shown(text, state)


def _readable(content: JsonValue) -> JsonValue:
    """The content as it came; what no model could read is shown by its beginning."""
    if not reaches(content, LARGEST_SHOWN // _LONGEST_ESCAPE):
        return content
    form = canonical(content, limits=OBJECT)
    return content if len(form) <= LARGEST_SHOWN else truncated(content, form)


def _stored(result: JsonValue) -> tuple[JsonValue, str | None]:
    """Content and error text, as the store keeps a result."""
    match result:
        case {"content": content, "errorText": str() | None as text}:
            return content, text
        case _:
            return result, None


def at_settling(facts: CallFacts | None) -> Shown:
    """What stands in the transcript of a Turn that ended with this call open (R161, C54)."""
    result = shown(facts) if facts is not None else None
    if result is not None:
        return result
    if facts is not None and facts.state in {CallState.STARTED, CallState.UNKNOWN}:
        return Shown(UNCERTAIN, facts.state)
    return Shown(NOT_EXECUTED, CallState.NOT_EXECUTED)


def runs_here(facts: CallFacts) -> bool:
    """Whether this process may run the call now: nobody has to allow it, or somebody did (I35)."""
    unsettled = facts.state in {CallState.INTENDED, CallState.STARTED}
    return facts.route in IN_PROCESS and unsettled and facts.allowed


def starts(binding: ToolBinding) -> bool:
    """Whether a call of this tool begins here as soon as its intent stands."""
    return binding.route in IN_PROCESS and not gated(binding)


def gated(binding: ToolBinding) -> bool:
    """Whether a person has to allow each call of this tool."""
    return binding.approval is ApprovalPolicy.ALWAYS


def intent(
    call_id: str, ordinal: int, arguments: JsonValue, binding: ToolBinding, *, begins: bool = True
) -> IntentDraft:
    """The intent of a call; one that runs here and waits for nobody starts with it (S10).

    `begins` is False for a call that runs only after a sibling: its start record comes then.
    """
    return IntentDraft(
        call_id=call_id,
        ordinal=ordinal,
        name=binding.name,
        arguments=arguments,
        binding=binding.to_json(),
        route=binding.route,
        effect=binding.effect.value,
        needs_approval=gated(binding),
        start=begins and starts(binding),
    )


def distinct(call_ids: Sequence[str]) -> list[str]:
    """Call ids of one reply with repeated ones renamed: `a, a, a` is `a, a~2, a~3` (C52)."""
    taken = set(call_ids)
    given: list[str] = []
    for call_id in call_ids:
        given.append(_free(call_id, taken) if call_id in given else call_id)
        taken.add(given[-1])
    return given


def _free(call_id: str, taken: Iterable[str]) -> str:
    number = 2
    while f"{call_id}~{number}" in taken:
        number += 1
    return f"{call_id}~{number}"
