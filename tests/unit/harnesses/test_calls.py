"""Calls: what is shown of each outcome, who may run one, and ids within a reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.backend import CallFacts
from sessions_app.contract.status import CallState
from sessions_app.harnesses import calls
from sessions_app.harnesses.calls import NOT_EXECUTED, UNCERTAIN, Shown, distinct
from sessions_app.harnesses.local import failed
from sessions_app.ports import ToolReturn
from tests.covers import covers, poses

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue


def _facts(state: CallState, result: JsonValue = None, route: str = "local") -> CallFacts:
    return CallFacts(
        "exe_1", "c", 0, 1, "t", {}, route, "once", state, started=False, result=result
    )


@pytest.mark.parametrize(
    ("state", "result", "content"),
    [
        (CallState.COMPLETED, {"content": {"n": 1}, "errorText": None}, {"n": 1}),
        (CallState.COMPLETED, {"content": None, "errorText": None}, None),
        (CallState.FAILED, {"content": {"code": "X"}, "errorText": "no"}, "no"),
        (CallState.FAILED, {"content": None, "errorText": None}, "The call failed."),
        (CallState.DENIED, None, "The call was refused by a person."),
        (CallState.CANCELLED, None, "The call was cancelled."),
        (CallState.NOT_EXECUTED, None, NOT_EXECUTED),
    ],
)
def test_a_settled_call_is_shown(state: CallState, result: JsonValue, content: JsonValue) -> None:
    """By its content, its error text, or words for its state."""
    outcome = calls.shown(_facts(state, result))

    assert outcome is not None
    assert outcome.content == content
    assert outcome.failed is (state is not CallState.COMPLETED)


@pytest.mark.parametrize("state", [CallState.INTENDED, CallState.STARTED, CallState.UNKNOWN])
def test_an_open_call_has_no_result(state: CallState) -> None:
    """Nothing is invented while nobody knows (law 7)."""
    assert calls.shown(_facts(state)) is None


def test_a_result_reads_the_same_before_and_behind_the_store() -> None:
    """What the first process showed the model is what a replay shows."""
    returned = failed("try again", calls.RETRY)
    stored = {"content": returned.content, "errorText": returned.error_text}

    assert calls.returned(returned) == calls.shown(_facts(CallState.FAILED, stored))


@poses("C54")
@pytest.mark.parametrize(
    ("facts", "content"),
    [
        (None, NOT_EXECUTED),
        (_facts(CallState.INTENDED), NOT_EXECUTED),
        (_facts(CallState.STARTED), UNCERTAIN),
        (_facts(CallState.COMPLETED, {"content": 1, "errorText": None}), 1),
    ],
)
def test_a_settled_turn_says_what_is_known(facts: CallFacts | None, content: JsonValue) -> None:
    """A placeholder stands only where there is no result (C54)."""
    assert calls.at_settling(facts).content == content


@poses("C52")
@pytest.mark.parametrize(
    ("given", "renamed"),
    [
        (["a", "b"], ["a", "b"]),
        (["a", "a", "a"], ["a", "a~2", "a~3"]),
        (["a~2", "a", "a"], ["a~2", "a", "a~3"]),
        ([], []),
    ],
)
def test_repeated_ids_are_renamed_by_a_fixed_rule(given: list[str], renamed: list[str]) -> None:
    """The same reply gets the same ids in every process (C52)."""
    assert distinct(given) == renamed


def test_words_of_a_structured_error_are_json() -> None:
    """Frameworks want text."""
    assert Shown({"b": 1}, CallState.FAILED).text == '{"b":1}'


@covers("R209")
def test_what_no_model_could_read_is_shown_by_its_beginning() -> None:
    """R209: the store keeps all of it; the model is told its size, and the same in a replay."""
    content = "é" * (calls.LARGEST_SHOWN // 2)
    shorter: JsonValue = {"content": content[:-1], "errorText": None}
    longer: JsonValue = {"content": content, "errorText": None}

    whole = calls.shown(_facts(CallState.COMPLETED, shorter))
    cut = calls.shown(_facts(CallState.COMPLETED, longer))

    assert whole == Shown(content[:-1], CallState.COMPLETED)
    assert cut == calls.returned(ToolReturn(content))
    assert cut is not None
    assert isinstance(cut.content, dict)
    assert cut.content["truncated"] is True
    assert cut.content["bytes"] == calls.LARGEST_SHOWN + 2
