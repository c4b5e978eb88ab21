"""Repair of a transcript: what is found, what mends it, and that the mended one is whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.contract.errors import Conflict
from sessions_app.contract.transcript import Added, Kept, Mark, Message, after, refuse_waiting
from sessions_app.machine.transcript import after_repair, repair

WORDS = (Mark("words"),)


def call(*ids: str) -> Message:
    """A reply that asks for these."""
    return tuple(Mark("call", name, "add") for name in ids)


def result(*ids: str) -> Message:
    """A message with the results of these."""
    return tuple(Mark("result", name) for name in ids)


def shown(messages: list[Message]) -> list[str]:
    """A history in words."""
    return [", ".join(map(str, message)) for message in messages]


DAMAGES = {
    "orphan call": (
        [WORDS, call("a", "b"), result("a"), WORDS],
        [WORDS, call("a", "b"), result("a"), result("b"), WORDS],
        "message 1: call b (add) has no result",
    ),
    "orphan result": (
        [WORDS, result("x"), WORDS],
        [WORDS, WORDS],
        "message 1: a result that no call asked for, x",
    ),
    "two results": (
        [WORDS, call("a"), result("a"), WORDS, result("a")],
        [WORDS, call("a"), result("a"), WORDS],
        "message 4: a second result, a",
    ),
    "wrong order": (
        [WORDS, call("a", "b"), result("b"), result("a")],
        [WORDS, call("a", "b"), result("a"), result("b")],
        "message 1: its results do not follow it in call order",
    ),
    "a result behind other words": (
        [WORDS, call("a"), WORDS, result("a")],
        [WORDS, call("a"), result("a"), WORDS],
        "message 1: its results do not follow it in call order",
    ),
    "an orphan beside words": (
        [(Mark("result", "x"), Mark("words"))],
        [WORDS],
        "message 0: a result that no call asked for, x",
    ),
}


@pytest.mark.parametrize(("before", "mended", "fault"), DAMAGES.values(), ids=DAMAGES.keys())
def test_a_repair_names_the_fault_and_mends_it(
    before: list[Message], mended: list[Message], fault: str
) -> None:
    """Each damage has its words, and the mended history keeps all that can stay."""
    found = repair(before)

    assert found is not None
    assert fault in found.faults
    assert shown(after_repair(before, found)) == shown(mended)


def test_a_whole_history_needs_no_repair() -> None:
    """Nothing is found and nothing would be written."""
    assert repair([WORDS, call("a", "b"), result("a"), result("b"), WORDS]) is None


def test_a_repair_leaves_what_stands_before_the_damage() -> None:
    """The new entry begins at the first message that changes, so nothing is stored twice."""
    found = repair([WORDS, call("a"), result("a"), call("b"), WORDS])

    assert found is not None
    assert (found.at, found.pieces) == (4, (Added("b", "add"), Kept(4)))


def test_an_id_twice_in_one_reply_is_not_guessed_at() -> None:
    """Nothing says which result is whose, so a person has to decide."""
    with pytest.raises(Conflict, match="no repair is known"):
        repair([call("a", "a"), result("a"), result("a")])


MESSAGES = st.one_of(
    st.just(WORDS),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True).map(lambda x: call(*x)),
    st.lists(st.sampled_from("abcx"), min_size=1, max_size=3).map(lambda x: result(*x)),
    st.lists(st.sampled_from("abx"), min_size=1, max_size=2).map(lambda x: (*result(*x), *WORDS)),
)


@given(st.lists(MESSAGES, max_size=12))
def test_every_mended_history_is_one_that_a_model_takes(before: list[Message]) -> None:
    """Whatever the damage: whole afterwards, no words lost, and a second repair finds nothing."""
    found = repair(before)
    mended = before if found is None else after_repair(before, found)

    waiting: tuple[str, ...] = ()
    for message in mended:
        waiting = after(waiting, message)
    refuse_waiting(waiting)

    assert repair(mended) is None
    assert _words(mended) == _words(before)


def _words(messages: list[Message]) -> int:
    return sum(mark.kind == "words" for message in messages for mark in message)
