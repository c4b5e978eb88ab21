"""The scripted provider, spoken to by the real client library."""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import openai
import pytest

from durable_site.demo.journal import End
from durable_site.demo.provider import ScriptedProvider
from durable_site.demo.script import PROMPT

Messages = list[dict[str, Any]]

TOOLS: Any = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("count_errors", "write_report")
]
ASKED: Messages = [{"role": "user", "content": PROMPT}]


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[ScriptedProvider]:
    """A provider that keeps a journal file."""
    with ScriptedProvider(tmp_path / "requests.jsonl") as server:
        yield server


@pytest.fixture
def client(provider: ScriptedProvider) -> Iterator[openai.OpenAI]:
    """The real client, told not to retry by itself."""
    with _client(provider) as library:
        yield library


def _client(provider: ScriptedProvider) -> openai.OpenAI:
    return openai.OpenAI(base_url=provider.base_url, api_key="any", max_retries=0)


def ask(client: openai.OpenAI, messages: Messages) -> Messages:
    """Ask once and return the history with the answer."""
    answer = client.chat.completions.create(
        model="scripted", messages=cast("Any", messages), tools=TOOLS
    )
    message = answer.choices[0].message.model_dump(exclude_none=True)
    return [*messages, message]


def result(messages: Messages, content: str) -> dict[str, Any]:
    """Return a result for the one call of the last message."""
    call = messages[-1]["tool_calls"][0]["id"]
    return {"role": "tool", "tool_call_id": call, "content": content}


def called(messages: Messages) -> list[str]:
    """Name the tools that the last message calls."""
    return [call["function"]["name"] for call in messages[-1].get("tool_calls", ())]


def test_the_script_uses_both_tools_and_then_answers(client: openai.OpenAI) -> None:
    """The story is: count, write, say where the report lies."""
    first = ask(client, ASKED)
    second = ask(client, [*first, result(first, "17 errors")])
    third = ask(client, [*second, result(second, "reports/checkout.md")])

    assert called(first) == ["count_errors"]
    assert called(second) == ["write_report"]
    assert json.loads(second[-1]["tool_calls"][0]["function"]["arguments"]) == {
        "service": "checkout",
        "findings": "17 errors",
    }
    assert called(third) == []
    assert "reports/checkout.md" in third[-1]["content"]


def test_equal_histories_get_equal_answers(client: openai.OpenAI) -> None:
    """A retry of a request that was lost is answered as the first one was."""
    assert ask(client, ASKED) == ask(client, ASKED)


def test_a_stream_says_what_the_whole_answer_says(client: openai.OpenAI) -> None:
    """Streaming and not streaming are two forms of one answer, usage included."""
    asked: Any = {"model": "scripted", "messages": ASKED, "tools": TOOLS}
    whole = client.chat.completions.create(**asked)

    with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
        streamed = stream.get_final_completion()

    message, said = whole.choices[0].message, streamed.choices[0].message
    assert said.content == message.content
    assert said.tool_calls and message.tool_calls  # noqa: PT018 - both narrow types
    assert said.tool_calls[0].id == message.tool_calls[0].id
    assert streamed.usage == whole.usage
    assert streamed.choices[0].finish_reason == whole.choices[0].finish_reason == "tool_calls"


@pytest.mark.parametrize(
    "break_history",
    [
        pytest.param(lambda h: h, id="call without result"),
        pytest.param(lambda h: [*h, result(h, "a"), result(h, "b")], id="second result"),
        pytest.param(lambda h: [h[0], result(h, "a")], id="result without call"),
        pytest.param(lambda h: [*h, ASKED[0], result(h, "a")], id="result out of order"),
        pytest.param(lambda _: [], id="nothing"),
    ],
)
def test_a_broken_history_is_refused(
    client: openai.OpenAI, break_history: Callable[[Messages], Messages]
) -> None:
    """Law 8: the provider accepts only well-formed transcripts."""
    history = ask(client, ASKED)

    with pytest.raises(openai.BadRequestError) as refused:
        ask(client, break_history(history))

    assert refused.value.type == "invalid_request_error"


def test_models_are_listed_and_other_addresses_unknown(client: openai.OpenAI) -> None:
    """The library's errors are those of a real provider."""
    assert [model.id for model in client.models.list()] == ["scripted"]
    with pytest.raises(openai.NotFoundError):
        client.embeddings.create(model="scripted", input="text")


def test_every_request_and_its_end_is_in_the_journal(
    provider: ScriptedProvider, client: openai.OpenAI, tmp_path: Path
) -> None:
    """The journal file counts requests and says how each ended."""
    first = ask(client, ASKED)
    with pytest.raises(openai.BadRequestError):
        ask(client, first)
    provider.journal.wait_for_end(2, timeout=10)

    lines = [json.loads(line) for line in (tmp_path / "requests.jsonl").read_text().splitlines()]
    assert [(line["request"], line["state"]) for line in lines] == [
        (1, "arrived"),
        (1, "answered"),
        (2, "arrived"),
        (2, "refused"),
    ]
    assert lines[0]["body"]["messages"][0]["content"] == PROMPT


@pytest.mark.parametrize("streaming", [False, True])
def test_a_held_request_waits_and_is_lost_with_its_caller(*, streaming: bool) -> None:
    """The one who asked goes away in the middle: the request stands as lost."""
    with ScriptedProvider(hold=1) as provider, _client(provider) as client:
        with pytest.raises(openai.APITimeoutError):
            list(
                client.chat.completions.create(
                    model="scripted", messages=cast("Any", ASKED), stream=streaming, timeout=0.5
                )
            )

        assert provider.held.is_set()
        assert provider.journal.wait_for_end(1, timeout=10)
        assert [record.end for record in provider.journal.records()] == [End.LOST]


def test_a_released_request_is_answered() -> None:
    """Holding changes the time of an answer and nothing else."""
    with ScriptedProvider(hold=1) as provider, _client(provider) as client:
        release = threading.Thread(target=_release_when_held, args=[provider])
        release.start()

        history = ask(client, ASKED)

        release.join()
        assert called(history) == ["count_errors"]


def _release_when_held(provider: ScriptedProvider) -> None:
    provider.held.wait(10)
    provider.release()
