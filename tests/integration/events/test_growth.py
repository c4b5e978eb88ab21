"""What a Turn of many steps leaves in the database grows with its text, and not faster (C40)."""

from __future__ import annotations

import itertools
from itertools import count, islice
from typing import TYPE_CHECKING, Final

import pytest
from django.apps import apps
from django.db import connection

from hands_app.contract.strict_json import canonical
from sessions_app.contract.backend import (
    EntryDraft,
    Go,
    MessageDraft,
    ModelCallFacts,
    ResultDraft,
    text_part,
)
from sessions_app.contract.status import CallState, EntryKind, StepPhase
from sessions_app.models import JournalEntry, ToolCall
from sessions_app.models.fields import PackedJSON
from tests.covers import poses
from tests.stores import FRAME, tool_intent

if TYPE_CHECKING:
    from collections.abc import Callable

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.backend import Claim
    from tests.stores import Store

TEXT: Final = 20_000
SAID: Final = (
    "the report of last night says that seven services answered late and one did not answer at all "
    "so the agent asks for its log and reads on until it finds a reason that explains what was seen"
)


def text(seed: int, length: int) -> str:
    """Words in an order that no other step has."""
    words = SAID.split()
    order = (words[(seed * 31 + place * place * 7 + place // 3) % len(words)] for place in count())
    return " ".join(islice(order, length // 2))[:length]


def stored() -> int:
    """Characters in all columns of all tables, as the database has them."""
    models = apps.get_app_config("sessions_app").get_models()
    total = 0
    with connection.cursor() as cursor:
        for model in models:
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(model._meta.db_table)}")  # noqa: S608 - our own name
            total += sum(len(str(value)) for row in cursor.fetchall() for value in row)
    return total


def says(store: Store, claim: Claim, step: int, length: int) -> None:
    """One step: the model says so much."""
    words = text(step, length)
    _asked(
        store,
        claim,
        step,
        {"parts": [words]},
        MessageDraft(ordinal=step, parts=(text_part(words),)),
    )
    store.commit(claim, Go(phase=StepPhase.REASONING))


def looks_up(store: Store, claim: Claim, step: int, length: int) -> None:
    """One step: a tool gives so much."""
    words = text(step, length)
    _asked(store, claim, step, {"parts": []})
    call = ToolCall.objects.get(round=step).pk
    result = ResultDraft(execution_id=call, state=CallState.COMPLETED, content=words)
    store.commit(claim, Go(), results=(result,))
    items = EntryDraft(kind=EntryKind.ITEMS, body={"results": [words]})
    end = Go(phase=StepPhase.REASONING)
    store.commit(claim, end, entries=(items,), applied=(call,), frame=FRAME)


def _asked(store: Store, claim: Claim, step: int, body: JsonValue, *said: MessageDraft) -> None:
    outcome = EntryDraft(kind=EntryKind.OUTCOME, body=body, ordinal=step, request_digest="d")
    seen = ModelCallFacts(ordinal=step, request_digest="d", model="m", input_tokens=1)
    store.commit(
        claim,
        Go(phase=StepPhase.TOOL),
        entries=(outcome,),
        model_calls=(seen,),
        messages=said,
        frame=FRAME,
        intents=() if said else (tool_intent(),),
    )


@poses("C40")
@pytest.mark.parametrize("step", [says, looks_up], ids=["a model's words", "a tool's result"])
def test_stored_bytes_follow_the_new_text(
    store: Store, step: Callable[[Store, Claim, int, int], None]
) -> None:
    """Each step adds the same, however many came before, and within three times its text.

    What may hide in the tolerance would leave five hundred steps within three times as well.
    """
    store.submit(store.session())
    claim = store.claim()
    sizes = [stored()]

    for number in range(1, 13):
        step(store, claim, number, TEXT)
        sizes.append(stored())

    added = [after - before for before, after in itertools.pairwise(sizes)]
    slope = _slope(sizes)
    assert slope / TEXT <= 3
    assert max(added) - min(added) < TEXT / 100
    assert abs(added[-1] - added[0]) < TEXT / 100


def _slope(sizes: list[int]) -> float:
    """Of the straight line that fits best."""
    middle, mean = (len(sizes) - 1) / 2, sum(sizes) / len(sizes)
    above = sum((at - middle) * (size - mean) for at, size in enumerate(sizes))
    return above / sum((at - middle) ** 2 for at in range(len(sizes)))


def test_a_packed_body_is_the_same_body(store: Store) -> None:
    """What is private and large is stored short, and read as it was written."""
    store.submit(store.session())
    says(store, store.claim(), 1, TEXT)

    assert JournalEntry.objects.get().body == {"parts": [text(1, TEXT)]}
    with connection.cursor() as cursor:
        cursor.execute("SELECT body FROM sessions_app_journalentry")
        (raw,) = cursor.fetchone()
    assert len(raw) < TEXT * 0.7


@pytest.mark.parametrize(
    "body",
    ["short", {"zlib:": 1}, "".join(map(chr, range(0x4E00, 0x4E00 + 3000)))[:1000]],
    ids=["short", "looks packed", "below the bound"],
)
def test_what_does_not_gain_is_stored_as_it_is(body: object) -> None:
    """Small bodies stay readable for whoever opens the database."""
    assert PackedJSON().get_prep_value(body) == canonical(body).decode()
