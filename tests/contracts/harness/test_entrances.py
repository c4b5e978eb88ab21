"""C13 to C17 where models and tools give something: mended or an error result, and on it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from hands_app.contract.strict_json import MARKER, check
from hands_app.contract.tools import Tool, ToolError, tool
from sessions_app.harnesses.scripted.model import Call, Reply
from tests import entrances
from tests.contracts.harness.bench import Bench
from tests.contracts.harness.provider import Provider
from tests.contracts.harness.toolbox import Toolbox
from tests.covers import poses

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.contracts.harness.kernels import Kernel
    from tests.doubles.memory_backend import MemoryTurn

PRIVATE: Final = ("thinking of a model", "arguments from a model")
"""Not shown, or kept as the text that the model wrote."""
GIVE: Final = Call("give")


class Giving(Toolbox):
    """The suite's tools, and one that gives or raises what it is told to."""

    def __init__(self, given: Any) -> None:
        super().__init__()
        self._given = given

    def all(self) -> tuple[Tool, ...]:
        """With `give`."""

        @tool(name="give", effect="idempotent")
        def give() -> object:
            """Give it."""
            if isinstance(self._given, Exception):
                raise self._given
            return self._given

        return (*super().all(), give)


def _odd(name: str, odd: str) -> tuple[Reply, Any]:
    """The model's first reply, and what the tool `give` has, with the odd text at this entrance."""
    doors: dict[str, tuple[Reply, Any]] = {
        "text of a model": (Reply(odd, (GIVE,)), "ok"),
        "thinking of a model": (Reply("", (GIVE,), odd), "ok"),
        "arguments from a model": (Reply("", (Call("note", {"text": odd}),)), "ok"),
        "name of a tool from a model": (Reply("", (Call(f"give{odd}"),)), "ok"),
        "result of a tool": (Reply("", (GIVE,)), {"text": [odd]}),
        "keys of a result": (Reply("", (GIVE,)), {odd: 1, f"{odd}b": 2}),
        "error of a tool": (Reply("", (GIVE,)), ToolError(odd, code="ODD")),
    }
    assert tuple(doors) == entrances.MODELS_AND_TOOLS
    return doors[name]


async def _complete(kernel: Kernel, reply: Reply, given: Any) -> tuple[Bench, MemoryTurn]:
    run = Bench(kernel, Provider([reply, Reply("done"), Reply("next")]), tools=Giving(given))
    turn = await run.complete()
    await run.complete("and on")
    return run, turn


@poses("C13", "C14")
@pytest.mark.parametrize("name", entrances.MODELS_AND_TOOLS)
async def test_odd_text_of_models_and_tools_is_mended(kernel: Kernel, name: str) -> None:
    """The marker stands for it in history and prompts; this Turn and the next complete."""
    for odd in entrances.ODD_TEXTS.values():
        run, _ = await _complete(kernel, *_odd(name, odd))

        assert [turn.status for turn in run.backend.turns] == ["COMPLETED", "COMPLETED"]
        stored = [entry.body for entry in run.backend.entries]
        told = str(check(stored)), str(check(run.provider.prompts[-1]))
        assert not any(char in text for char in odd if not char.isascii() for text in told)
        assert name in PRIVATE or all(MARKER in text for text in told)


@poses("C14")
async def test_halves_that_belong_together_become_one_character(kernel: Kernel) -> None:
    """As two escapes or cut across two fragments: nothing is lost and nothing is marked."""
    run, turn = await _complete(kernel, Reply("a \ud83c\udf78 b", (GIVE,)), "\ud83c\udf78")

    (call,) = turn.calls.values()
    assert call.result == {"content": "\U0001f378", "errorText": None}
    assert MARKER not in str([entry.body for entry in run.backend.entries])


WORSE: dict[str, Callable[[], Any]] = {
    **{odd: lambda number=number: [number] for odd, number in entrances.ODD_NUMBERS.items()},  # type: ignore[misc]  # mypy cannot type a default of a lambda
    **{
        f"{levels} levels": lambda levels=levels: entrances.deep(levels)  # type: ignore[misc]  # as above
        for levels in entrances.DEEP
    },
    **{kind: lambda kind=kind: entrances.large(kind) for kind in entrances.LARGE},  # type: ignore[misc]  # as above
}


@poses("C15", "C17")
@pytest.mark.parametrize("kind", WORSE)
async def test_a_result_that_json_cannot_keep_is_an_error_result(kernel: Kernel, kind: str) -> None:
    """The effect has happened, so it is told as what it is; the worker and the Turn go on."""
    run, turn = await _complete(kernel, Reply("", (GIVE,)), WORSE[kind]())

    (call,) = turn.calls.values()
    assert (turn.status, call.state) == ("COMPLETED", "FAILED")
    (result,) = [said for said in run.provider.prompts[-1] if said["role"] == "tool"]
    assert "what it returned is no JSON value" in result["content"]


@poses("C15")
async def test_numbers_that_keep_their_value_reach_the_model(kernel: Kernel) -> None:
    """They come back as they were given."""
    run, _ = await _complete(kernel, Reply("", (GIVE,)), dict(entrances.GOOD_NUMBERS))

    (result,) = [said for said in run.provider.prompts[-1] if said["role"] == "tool"]
    assert result["content"] == entrances.GOOD_NUMBERS


@poses("C15")
@pytest.mark.parametrize("odd", entrances.ODD_NUMBERS)
async def test_arguments_that_json_cannot_keep_start_no_tool(kernel: Kernel, odd: str) -> None:
    """The model reads that they are wrong, nothing runs, and the Turn goes on."""
    asked = Call("add", {"a": entrances.ODD_NUMBERS[odd], "b": 1})
    run, turn = await _complete(kernel, Reply("", (asked,)), "ok")

    assert (turn.status, run.tools.ran) == ("COMPLETED", {})
    assert turn.calls == {}
