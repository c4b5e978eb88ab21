"""Answers: text, structured output and its validators, beside calls of tools."""

from __future__ import annotations

from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, PromptedOutput
from pydantic_ai.messages import (
    ModelMessage,
    TextPart,
    ToolReturnPart,
)

from sessions_app.contract.backend import text_part
from sessions_app.contract.status import CallState
from tests.covers import covers
from tests.unit.harnesses.pydantic_ai.agents import agent, bench, calls, model, says


class Report(BaseModel):
    """A structured answer."""

    title: str
    pages: int


@covers("R076")
async def test_a_structured_answer_is_a_data_part() -> None:
    """Output of another type than str is kept as one (R076)."""
    final = calls(("final_result", {"title": "Errors", "pages": 3}))
    run = bench(lambda: agent(final, output_type=Report))

    turn = await run.complete()

    assert turn.result == {"parts": [{"type": "data", "data": {"title": "Errors", "pages": 3}}]}
    assert turn.calls == {}
    (message,) = turn.messages
    assert {"parts": list(message.parts)} == turn.result


async def test_words_beside_a_structured_answer_stay() -> None:
    """The last message has both; the result is the output alone."""
    final = calls(("final_result", {"title": "Errors", "pages": 3}))
    final.parts = [TextPart("Here it is."), *final.parts]
    run = bench(lambda: agent(final, output_type=Report))

    turn = await run.complete()

    data = {"type": "data", "data": {"title": "Errors", "pages": 3}}
    assert [message.parts for message in turn.messages] == [(text_part("Here it is."), data)]
    assert turn.result == {"parts": [data]}


async def test_the_raw_form_of_a_structured_answer_is_replaced() -> None:
    """A model that answers in JSON text: readers get the output, not its source."""
    raw = says('{"title": "Errors", "pages": 3}')
    run = bench(lambda: agent(raw, output_type=PromptedOutput(Report)))

    turn = await run.complete()

    data = {"type": "data", "data": {"title": "Errors", "pages": 3}}
    assert [message.parts for message in turn.messages] == [(data,)]


async def test_what_an_output_function_returns_is_the_last_message() -> None:
    """A text that the model never wrote is in the history as well (R076)."""

    def shout(word: str) -> str:
        return word.upper()

    final = calls(("final_result", {"word": "done"}))
    run = bench(lambda: agent(final, output_type=shout))

    turn = await run.complete()

    assert turn.result == {"parts": [text_part("DONE")]}
    assert [message.parts for message in turn.messages] == [(text_part("DONE"),)]


async def test_output_validators_of_the_agent_are_kept() -> None:
    """Also where a call had to wait for the outside."""

    def build() -> Agent[None, str]:
        made = Agent(model(calls(("generate_report", {"title": "t"})), says("rude"), says("kind")))

        @made.output_validator
        def polite(output: str) -> str:
            if output == "rude":
                message = "be kind"
                raise ModelRetry(message)
            return output

        return made

    run = bench(build, results={"generate_report": "done"})

    turn = await run.complete()

    assert turn.result == {"parts": [{"type": "text", "text": "kind"}]}


async def test_a_structured_answer_leaves_a_thread_that_goes_on() -> None:
    """The output call has its result in the history."""
    seen: list[list[ModelMessage]] = []
    final = calls(("final_result", {"title": "Errors", "pages": 3}))
    run = bench(lambda: Agent(model(final, final, seen=seen), output_type=Report))

    await run.complete("one")
    await run.complete("two")

    parts = [part for message in seen[-1] for part in message.parts]
    assert [type(part) for part in parts if isinstance(part, ToolReturnPart)] == [ToolReturnPart]
    assert run.turn.status == "COMPLETED"


async def test_an_output_call_wins_over_an_outside_call() -> None:
    """The outside call is not sent: nobody waits for it any more."""
    both = calls(("generate_report", {"title": "t"}), ("final_result", {"title": "x", "pages": 1}))
    run = bench(lambda: agent(both, output_type=Report))

    turn = await run.complete()

    assert turn.status == "COMPLETED"
    assert turn.calls == {}


async def test_an_outside_call_beside_a_refused_output_is_sent() -> None:
    """The output call failed, so the reply was no answer."""
    both = calls(("generate_report", {"title": "t"}), ("final_result", {"title": "x"}))
    final = calls(("final_result", {"title": "x", "pages": 1}))
    run = bench(lambda: agent(both, final, output_type=Report), results={"generate_report": "done"})

    turn = await run.complete()

    assert turn.status == "COMPLETED"
    assert run.states() == {"generate_report": CallState.COMPLETED}
