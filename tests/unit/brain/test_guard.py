"""The transcript guard: what it lets pass, what it stops, and what it costs (law 8, I33)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sessions_app.brain.guard import Guard
from sessions_app.contract.backend import EntryDraft, Finish, Go
from sessions_app.contract.errors import BrokenTranscript
from sessions_app.contract.status import EntryKind
from sessions_app.contract.transcript import Mark, Passage
from tests.unit.brain.brainlets import Model, Stage

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue

WORDS = "words"


def entry(at: int, *messages: str, kind: EntryKind = EntryKind.ITEMS, path: str = "main") -> Any:
    """An entry of messages such as `call a b`, `result a` or `words`."""
    body: JsonValue = {"at": at, "messages": list(messages)}
    ordinal, digest = (1, "d") if kind == EntryKind.OUTCOME else (None, None)
    return EntryDraft(kind=kind, body=body, path=path, ordinal=ordinal, request_digest=digest)


def read(body: Any) -> Passage:
    """The same as a harness reads its own entries."""
    return Passage(body["at"], tuple(_marks(text) for text in body["messages"]))


def _marks(text: str) -> tuple[Mark, ...]:
    kind, *ids = text.split()
    if kind == "call":
        return tuple(Mark("call", name) for name in ids)
    return tuple(Mark("result", name) for name in ids) if kind == "result" else (Mark("words"),)


def _behind(*messages: str) -> Guard:
    """A guard that has seen these."""
    guard = Guard(read)
    guard.take(entry(0, *messages))
    return guard


WHOLE = {
    "words": [WORDS],
    "a round": [WORDS, "call a b", "result a", "result b", WORDS],
    "results in one message": ["call a b", "result a b"],
    "an id again in a later round": ["call a", "result a", "call a", "result a"],
}
BROKEN = {
    "an orphan result": ([WORDS, "result a"], "message 1"),
    "a second result": (["call a", "result a", "result a"], "message 2"),
    "the wrong order": (["call a b", "result b", "result a"], "message 1"),
    "words before the result": (["call a", WORDS, "result a"], "message 1"),
    "a reply before the result": (["call a", "call b"], "message 1"),
    "an id twice in a reply": (["call a a", "result a", "result a"], "message 0"),
}


@pytest.mark.parametrize("messages", WHOLE.values(), ids=WHOLE.keys())
def test_a_whole_history_passes(messages: list[str]) -> None:
    """Every call has its one result, in place and in order."""
    guard = _behind(*messages)

    guard.check(whole=True)


@pytest.mark.parametrize(("messages", "where"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_history_is_stopped(messages: list[str], where: str) -> None:
    """The error names the first message that is wrong, and the command that mends it."""
    guard = _behind(*messages)

    with pytest.raises(BrokenTranscript, match=f"{where} .*repair-transcript"):
        guard.check()


def test_open_calls_are_stopped_at_a_request_only() -> None:
    """In mid-round a history ends with calls; a model is never shown that."""
    guard = _behind(WORDS, "call a")

    guard.check()
    with pytest.raises(BrokenTranscript, match="without a result: a"):
        guard.check(whole=True)


def test_an_entry_that_replaces_the_tail_mends_it() -> None:
    """What begins at a place of the history stands for all behind it, a breach included."""
    guard = _behind(WORDS, "result a")

    guard.take(entry(1, "call a", "result a"))

    guard.check(whole=True)


def test_an_entry_behind_a_breach_does_not_hide_it() -> None:
    """The first wrong message stays the one that is named."""
    guard = _behind(WORDS, "result a")

    guard.take(entry(2, WORDS))

    with pytest.raises(BrokenTranscript, match="message 1"):
        guard.check()


def test_what_is_no_history_is_left_aside() -> None:
    """Side paths, and an outcome stored without the messages that it answers."""
    guard = Guard(read)

    guard.take(entry(0, "result a", path="summary"))
    guard.take(entry(5, "call a", kind=EntryKind.OUTCOME))

    guard.check(whole=True)


def test_a_step_costs_what_it_adds() -> None:
    """A commit reads its own entries; no step reads the whole history again."""
    seen: list[JsonValue] = []

    def counted(body: Any) -> Passage:
        seen.extend(body["messages"])
        return read(body)

    guard = Guard(counted)
    guard.take(entry(0, *[WORDS] * 1000))
    for at in range(1000, 1010):
        assert len(seen) == at
        guard.take(entry(at, WORDS))
        guard.check(whole=True)

    assert len(seen) == 1010


async def test_a_broken_history_is_never_committed() -> None:
    """The commit that would store it raises, and nothing of it was written."""
    stage = Stage()
    host = stage.invocation(read=read)
    host.append(entry(0, WORDS, "result a"))

    for end in (host.commit, lambda: host.end(Finish(result=None)), lambda: host.end(Go())):
        with pytest.raises(BrokenTranscript):
            await end()

    assert stage.backend.changes == []


async def test_a_request_with_open_calls_is_never_sent() -> None:
    """The provider would refuse it; we do not even ask."""
    stage, model = Stage(), Model()
    host = stage.invocation(read=read)
    host.append(entry(0, WORDS, "call a"))

    with pytest.raises(BrokenTranscript):
        await host.ask_model(ordinal=1, request={}, send=model)

    assert model.requests == 0
