"""The transcript guard over each kernel: a broken history goes no further, and can be mended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sessions_app.contract.backend import Entry
from sessions_app.contract.transcript import Mark
from sessions_app.harnesses.calls import NOT_EXECUTED
from sessions_app.harnesses.scripted.model import Call, Reply
from sessions_app.machine.transcript import repair
from tests.contracts.harness.bench import Bench
from tests.contracts.harness.damage import DAMAGES, damaged
from tests.contracts.harness.provider import Provider

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sessions_app.contract.backend import EntryDraft, FrameDraft, Native
    from sessions_app.harnesses.scripted.model import Transcript
    from tests.contracts.harness.kernels import Kernel

ROUND = Reply("", (Call("add", {"a": 1, "b": 2}), Call("note", {"text": "x"})))


def _bench(kernel: Kernel) -> Bench:
    # The orphan result has lost its reply, so the provider counts one answer less.
    return Bench(kernel, Provider([ROUND, Reply("done"), Reply("next"), Reply("last")]))


def _native(run: Bench) -> Native:
    return run.backend.load(run.backend.claim())


def _store(run: Bench, drafts: tuple[EntryDraft, FrameDraft]) -> None:
    """Put an entry and a frame in as an import, or a restored copy, would."""
    entry, frame = drafts
    position = len(run.backend.entries) + 1
    run.backend.entries.append(Entry(position, entry.kind, run.turn.id, entry.body))
    run.backend._frame(frame, settled=True)


async def _damaged(kernel: Kernel, damage: str) -> Bench:
    run = _bench(kernel)
    await run.complete()
    _store(run, damaged(kernel.adapter, _native(run), damage))
    return run


async def test_the_neutral_list_is_what_the_model_was_shown(kernel: Kernel) -> None:
    """Every call and every result of the prompts is read, in the same order, and no other."""
    run = _bench(kernel)
    await run.complete()

    history = kernel.adapter.history(_native(run))

    marks = [mark for message in history for mark in message if mark.kind != "words"]
    assert [(mark.kind, mark.call_id) for mark in marks] == list(_shown(run.provider.prompts[-1]))
    assert repair(history) is None


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_history_ends_the_turn_before_the_model_is_asked(
    kernel: Kernel, damage: str
) -> None:
    """I33: a typed failure of ours; the provider hears nothing and nothing of it is stored."""
    run = await _damaged(kernel, damage)
    stored, asked = len(run.backend.entries), run.provider.requests

    await run.complete("next")

    assert (run.turn.status, run.turn.failures) == ("FAILED", ["BROKEN_TRANSCRIPT"])
    assert run.provider.requests == asked
    assert len(run.backend.entries) == stored


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_mended_history_is_taken_by_a_strict_model(kernel: Kernel, damage: str) -> None:
    """The repair touches nothing but calls and results, and the next Turn goes on from there."""
    run = await _damaged(kernel, damage)
    native = _native(run)
    found = repair(kernel.adapter.history(native))
    assert found is not None

    _store(run, kernel.adapter.mend(native, found.at, found.pieces))
    turn = await run.complete("next")

    assert turn.status == "COMPLETED"
    texts = [message.get("text") for message in run.provider.prompts[-1]]
    assert [text for text in texts if text] == ["go", "done", "next"]


async def test_a_result_that_is_put_in_says_that_nothing_was_executed(kernel: Kernel) -> None:
    """A repair invents no outcome."""
    run = await _damaged(kernel, "orphan call")
    native = _native(run)
    found = repair(kernel.adapter.history(native))
    assert found is not None

    _store(run, kernel.adapter.mend(native, found.at, found.pieces))
    await run.complete("next")

    results = [m for m in run.provider.prompts[-1] if m["role"] == "tool"]
    assert [(r["content"], r["failed"]) for r in results] == [(3, False), (NOT_EXECUTED, True)]


def _shown(prompt: Transcript) -> Iterator[tuple[str, str]]:
    for message in prompt:
        yield from (("call", call["id"]) for call in _calls(message))
        if message["role"] == "tool":
            yield "result", message["call"]


def _calls(message: dict[str, Any]) -> Sequence[dict[str, Any]]:
    calls: Sequence[dict[str, Any]] = message.get("calls", ())
    return calls


def test_marks_are_named_by_what_they_are() -> None:
    """What operators read quotes nothing that was said (law 10)."""
    assert str(Mark("call", "c1", "add")) == "call c1 (add)"
    assert str(Mark("words")) == "words"
