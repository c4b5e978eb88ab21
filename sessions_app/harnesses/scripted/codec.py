"""Native state of the scripted kernel: plain JSON messages, folded from the journal; its frames.

Builds no agent and asks no model, so that a host without agents can settle and restore (R133).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sessions_app.contract.content import user_input
from sessions_app.contract.status import CheckpointKind
from sessions_app.harnesses import journal
from sessions_app.harnesses.calls import Shown, at_settling
from sessions_app.harnesses.envelope import Envelope
from sessions_app.harnesses.journal import Progress

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.backend import (
        CallFacts,
        EntryDraft,
        FrameDraft,
        Native,
        PendingInput,
    )
    from sessions_app.contract.identity import DefinitionKey

FORMAT: Final = 1
ENVELOPE: Final = Envelope("scripted", FORMAT, "scripted 1.0")


@dataclass(slots=True)
class State:
    """Native state in memory: the transcript and where the Turn stands in it."""

    history: list[Any]
    progress: Progress
    opening: list[JsonValue]  # what the Turn puts first

    @property
    def open_reply(self) -> dict[str, Any] | None:
        """The newest reply while its calls have no results."""
        last = self.history[-1] if self.history else None
        return last if last and last["role"] == "assistant" and last["calls"] else None

    def frame(self, kind: CheckpointKind = CheckpointKind.BOUNDARY) -> FrameDraft:
        """A checkpoint of where the Turn stands."""
        return ENVELOPE.seal(self.progress.body(), kind)


def restore(native: Native, definition: DefinitionKey, turn_id: str) -> State:
    """Rebuild; raises Incompatible for a frame that this build may not read."""
    if native.frame is None:
        return State([], Progress(turn=turn_id), [task(native.turn_input)])
    progress = Progress.model_validate(ENVELOPE.open(native.frame, definition))
    state = State(journal.contained(native, progress), progress, [])
    if progress.turn != turn_id:
        state.progress = Progress(turn=turn_id)
        state.opening = [*_closing(state.open_reply, {}), task(native.turn_input)]
    return state


def settle(native: Native) -> tuple[tuple[EntryDraft, ...], FrameDraft | None]:
    """Close the calls that the Turn left open, with what is known of each (R161)."""
    history: list[Any] = journal.everything(native)
    if not history:
        return (), None
    state = State(history, progress(native), [])
    round_ = journal.last_round(native, state.progress.turn)
    known = {(call.call_id, call.ordinal): call for call in native.calls if call.round == round_}
    results = _closing(state.open_reply, known)
    state.progress.answered(round_)
    state.progress.finish(None)
    entries = (journal.items(len(history), results),) if results else ()
    return entries, state.frame(CheckpointKind.SETTLED)


def progress(native: Native) -> Progress:
    """Where the newest checkpoint stands, or the beginning of a Turn that has none yet."""
    if native.frame is not None:
        return Progress.model_validate(ENVELOPE.open(native.frame))
    return Progress(turn=native.entries[-1].turn_id)


def _closing(
    reply: dict[str, Any] | None, known: Mapping[tuple[str, int], CallFacts]
) -> list[JsonValue]:
    """A result for each open call of the last reply."""
    return [
        result(call["id"], at_settling(known.get((call["id"], place))))
        for place, call in enumerate(reply["calls"] if reply else [])
    ]


def said(text: str) -> JsonValue:
    """A message of the user."""
    return {"role": "user", "text": text}


def task(turn_input: JsonValue) -> JsonValue:
    """The Turn's input as a message; this kernel reads its text only."""
    return said(user_input(turn_input).text)


def input_message(given: PendingInput) -> JsonValue:
    """A steer or inject as a message."""
    return said(given.text)


def result(call_id: str, outcome: Shown) -> JsonValue:
    """The result of one call as a message."""
    return {"role": "tool", "call": call_id, "content": outcome.content, "failed": outcome.failed}
