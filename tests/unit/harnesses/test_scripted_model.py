"""The scripted model refuses bad histories exactly as providers do (law 8)."""

from __future__ import annotations

from typing import Any

import pytest

from sessions_app.harnesses.scripted import Call, RefusedError, Reply, Script
from sessions_app.harnesses.scripted.model import ScriptedModel, Transcript, refuse_broken

USER = {"role": "user", "text": "go"}
ASKED: dict[str, Any] = {
    "role": "assistant",
    "text": "",
    "calls": [{"id": "a", "name": "t", "arguments": {}}, {"id": "b", "name": "t", "arguments": {}}],
}


def _result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "call": call_id, "content": 1, "failed": False}


def test_each_call_with_one_result_in_order_is_taken() -> None:
    """Also when steers follow the results."""
    refuse_broken([USER, ASKED, _result("a"), _result("b"), USER])


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param([], id="empty"),
        pytest.param([USER, ASKED], id="no-results"),
        pytest.param([USER, ASKED, _result("a")], id="one-missing"),
        pytest.param([USER, ASKED, _result("b"), _result("a")], id="wrong-order"),
        pytest.param([USER, ASKED, _result("a"), _result("b"), _result("b")], id="second-result"),
        pytest.param([USER, _result("a")], id="orphan-result"),
        pytest.param([USER, ASKED, USER, _result("a"), _result("b")], id="user-between"),
        pytest.param([ASKED, _result("a"), _result("b")], id="assistant-first"),
        pytest.param([USER, {**ASKED, "calls": []}], id="assistant-last"),
        pytest.param([{"role": "user", "text": "\ud800"}], id="lone-surrogate"),
        pytest.param([{"role": "user", "text": "\x00"}], id="nul"),
        pytest.param([{"role": "user"}], id="no-text"),
        pytest.param(
            [USER, {**ASKED, "calls": [ASKED["calls"][0]] * 2}, _result("a"), _result("a")],
            id="one-id-twice",
        ),
    ],
)
def test_a_broken_history_is_a_definite_client_error(broken: Transcript) -> None:
    """A status of 400, so that recovery does not try it again."""
    with pytest.raises(RefusedError) as refused:
        refuse_broken(broken)

    assert refused.value.status_code == 400


async def test_replies_are_those_of_the_turn_in_order() -> None:
    """The ordinal of the request chooses; beyond the last there is none."""
    model = ScriptedModel(Script([Reply("one"), Reply("two")]))

    assert (await model.request([USER], 2))["text"] == "two"
    with pytest.raises(RefusedError, match="2 replies"):
        await model.request([USER], 3)


async def test_odd_text_of_the_model_is_replaced() -> None:
    """What it produced travels as strict JSON."""
    model = ScriptedModel(Script([Reply("a\x00", (Call("t", {"x": "\udc00"}),))]))

    reply = await model.request([USER], 1)

    assert (reply["text"], reply["calls"][0]["arguments"]) == ("a\ufffd", {"x": "\ufffd"})
