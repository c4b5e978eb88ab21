"""Messages over the real store: one row for each, kept through recovery, and nothing hidden."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from hands_app.contract.strict_json import SAFE_INTEGER
from sessions_app.contract.events import EventType
from sessions_app.contract.projection import EventProjection
from sessions_app.harnesses.scripted.model import Call, Reply
from sessions_app.management.output import as_json
from sessions_app.models import Event, JournalEntry
from sessions_app.runtime import DurableRuntime, SessionHandle
from sessions_app.store.invariants import check
from tests.contracts.harness.house import House, Mortal
from tests.contracts.harness.kernels import KERNELS, Kernel
from tests.covers import covers, poses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.brain.database import Database
    from sessions_app.contract.views import MessageView
    from sessions_app.registry import Factory
    from tests.contracts.harness.provider import Provider
    from tests.stores import Store

CANARY = "the canary sings at midnight"
REPLIES = (
    Reply("Adding.", (Call("add", {"a": 2, "b": 3}),), thinking=CANARY),
    Reply("Five.", thinking=CANARY),
)
HERE = [pytest.param(kernel, id=kernel.id) for kernel in KERNELS]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a failed Run be followed by the next one without a wait."""
    monkeypatch.setitem(settings.DURABLE["RECOVERY"], "first_seconds", 0)


def _house(store: Store, threads: Database, kernel: Kernel, **more: Any) -> House:
    return House(store, kernel, more.pop("backend", Mortal()), threads, REPLIES, **more)


def _session(store: Store) -> SessionHandle:
    return SessionHandle(store.session(), DurableRuntime())


def _history(store: Store) -> list[MessageView]:
    return [said for said in _session(store).history().items if said.role == "assistant"]


def _versions(history: list[MessageView]) -> list[tuple[JsonValue, int, int]]:
    parts: list[Any] = [said.parts for said in history]
    texts = [part["text"] for (part,) in parts]
    return [(text, said.attempt, said.revision) for text, said in zip(texts, history, strict=True)]


@covers("R071", "R075")
@pytest.mark.parametrize("here", HERE)
async def test_each_reasoning_round_is_a_message_of_its_own(
    store: Store, threads: Database, here: Kernel
) -> None:
    """Two rounds are two messages, in the order of their first public sequence."""
    await _house(store, threads, here).complete()

    history = await threads(_history, store)

    assert _versions(history) == [("Adding.", 1, 1), ("Five.", 1, 1)]
    assert [said.sequence for said in history] == sorted(said.sequence for said in history)


@covers("R072", "R073")
@poses("C57")
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("here", HERE)
async def test_a_replayed_answer_is_the_same_message_in_a_higher_revision(
    store: Store, threads: Database, here: Kernel, number: int
) -> None:
    """The Run broke off between outcome and application: one id, revision 2, the text once."""
    house = _house(store, threads, here, trips=number)
    turn = await house.complete()

    history = await threads(_history, store)

    expected = [("Adding.", 1, 1), ("Five.", 1, 1)]
    expected[number - 1] = (expected[number - 1][0], 1, 2)
    assert _versions(history) == expected
    assert [said.message_id for said in history] == [
        f"msg_{turn.id.removeprefix('turn_')}.{ordinal}" for ordinal in (1, 2)
    ]
    report = await threads(lambda: check(quiet=True))
    assert report.is_clean, "\n".join(map(str, report.breaches))


@covers("R072")
async def test_asking_the_model_again_raises_the_attempt(store: Store, threads: Database) -> None:
    """The process died in the request: the next answer is attempt 2 of the same message."""
    house = _house(store, threads, KERNELS[0], backend=Mortal("before", 0))
    await house.complete()

    history = await threads(_history, store)

    assert _versions(history) == [("Adding.", 2, 1), ("Five.", 1, 1)]


@covers("R070", "R073")
@poses("C57")
@pytest.mark.parametrize("here", HERE)
async def test_whoever_joins_three_sources_reads_each_text_once(
    store: Store, threads: Database, here: Kernel
) -> None:
    """Events from the start, the history page and the snapshot merge by id into one reading."""
    await _house(store, threads, here, trips=1).complete()

    def read() -> tuple[Any, Any, Any]:
        session = _session(store)
        projection = EventProjection.of(session.key)
        projection.accept_page(session.list_events())
        history = session.history().items
        return projection.snapshot().messages, session.snapshot().messages, history

    told, snapshot, history = await threads(read)

    assert told == snapshot == {said.message_id: said for said in history}
    texts = [part["text"] for said in history for part in said.parts]
    assert texts == ["go", "Adding.", "Five."]


class Report(BaseModel):
    """A structured output."""

    title: str
    pages: int


def _structured(_provider: Provider) -> Factory:
    """An agent that says a word and gives its output by the output call."""

    async def answer(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        output = ToolCallPart("final_result", {"title": "Errors", "pages": 3}, "c1")
        return ModelResponse(parts=[TextPart("Here it is."), output])

    return lambda _binding: Agent(FunctionModel(answer), output_type=Report)


@covers("R076")
async def test_a_structured_output_is_kept_wherever_readers_look(
    store: Store, threads: Database
) -> None:
    """Result, completed event, history and snapshot have the same data part, in public form."""
    kernel = Kernel("structured", "pydantic_ai", _structured, 0)
    turn = await _house(store, threads, kernel).complete()

    def read() -> list[Any]:
        session = _session(store)
        told = [e for e in session.list_events().items if e.type == EventType.MESSAGE_COMPLETED]
        kept = session.snapshot().history[-1].parts
        return [told[-1].payload["parts"], session.history().items[-1].parts, kept]

    data = {"type": "data", "data": {"title": "Errors", "pages": 3}}
    words = {"type": "text", "text": "Here it is."}
    assert turn.result == {"parts": [data]}
    assert await threads(read) == [[words, data]] * 3


@covers("R077")
@pytest.mark.parametrize("here", HERE)
async def test_no_preview_is_stored(store: Store, threads: Database, here: Kernel) -> None:
    """Whole messages and whole arguments alone: nothing that is stored is a fragment of them."""
    await _house(store, threads, here).complete()

    stored = await threads(lambda: set(Event.objects.values_list("type", flat=True)))

    assert stored <= set(EventType)
    assert [name for name in EventType if "delta" in name or "preview" in name] == []


@covers("R074")
@pytest.mark.parametrize("here", HERE)
async def test_hidden_reasoning_is_in_nothing_public(
    store: Store, threads: Database, here: Kernel, caplog: pytest.LogCaptureFixture
) -> None:
    """The journal has it, for the model; no view, event, snapshot, explanation or log line does."""
    caplog.set_level(logging.DEBUG)
    error = TimeoutError(CANARY)
    house = _house(store, threads, here, trips=1, trip_error=error)
    await house.complete()

    public = await threads(lambda: {name: _text(look(store)) for name, look in PUBLIC.items()})

    bodies = await threads(lambda: str([entry.body for entry in JournalEntry.objects.all()]))
    assert CANARY in bodies
    assert [name for name, text in public.items() if CANARY in text] == []
    assert all(len(text) > len("[]") for text in public.values())
    assert CANARY not in caplog.text


@poses("C15")
async def test_ids_and_cursors_are_texts_and_numbers_stay_small(
    store: Store, threads: Database
) -> None:
    """What a JavaScript reader would round is no number in our own payloads."""
    await _house(store, threads, KERNELS[0]).complete()

    public = await threads(lambda: [json.loads(_text(look(store))) for look in PUBLIC.values()])

    members = [pair for value in public for pair in _members(value)]
    named = {name: value for name, value in members if name.endswith(("Id", "cursor", "Cursor"))}
    numbers = {name: value for name, value in members if isinstance(value, int | float)}
    assert {type(value) for value in named.values()} <= {str, type(None)}
    assert {"turnId", "cursor", "messageId"} <= named.keys()
    assert {"sequence", "revision", "ordinal"} <= numbers.keys()
    assert max(numbers.values()) < SAFE_INTEGER


def _members(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(value, dict):
        yield from value.items()
    for inner in value.values() if isinstance(value, dict) else value:  # type: ignore[union-attr]  # a list
        if isinstance(inner, dict | list):
            yield from _members(inner)


def _text(value: object) -> str:
    return json.dumps(as_json(value), default=str)


def _turn_of(store: Store) -> Any:
    session = _session(store)
    return session.get_turn(session.list_turns().items[0].turn_id)


def _first_run(store: Store, name: str) -> Any:
    turn = _turn_of(store)
    return getattr(turn, name)(turn.list_runs().items[0].run_id)


PUBLIC: dict[str, Callable[[Store], Any]] = {
    "events": lambda store: _session(store).list_events(),
    "history": lambda store: _session(store).history(),
    "snapshot": lambda store: _session(store).snapshot(),
    "session": lambda store: _session(store).view(),
    "thread": lambda store: _session(store).main.view(),
    "turn": lambda store: _turn_of(store).status(),
    "tools": lambda store: _turn_of(store).list_tools(),
    "result": lambda store: _turn_of(store).result(),
    "runs": lambda store: _turn_of(store).list_runs(),
    "steps": lambda store: _first_run(store, "list_steps"),
    "model calls": lambda store: _first_run(store, "list_model_calls"),
    "explain": lambda store: _turn_of(store).explain(),
}
