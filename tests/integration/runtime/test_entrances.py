"""C13 to C17 where people send something: refused by name, nothing written, the id stays free."""

from __future__ import annotations

import io
import sys
import time
from typing import TYPE_CHECKING, Any, Final

import pytest
from django.core.management import call_command
from pydantic_ai import ImageUrl
from pydantic_ai.messages import ModelRequest, UserPromptPart

from sessions_app.contract.backend import IntentDraft, Park
from sessions_app.contract.errors import Invalid, NotFound
from sessions_app.management import exits
from sessions_app.models import Interaction
from sessions_app.runtime import repair
from sessions_app.store import reads
from tests import entrances
from tests.covers import covers, poses
from tests.integration.runtime.world import everything
from tests.stores import AGENT, Store, tool_intent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sessions_app.runtime import SessionHandle, TurnHandle

    Door = Callable[[SessionHandle, TurnHandle, str], Any]

SECONDS: Final = 1.0
"""Of this thread alone: a busy machine changes nothing in it."""


def _asked(turn: TurnHandle, kind: str) -> str:
    return Interaction.objects.get(turn=turn.turn_id, kind=kind).id


def _shell(verb: str, *arguments: str, stdin: str) -> None:
    """Run a verb that reads its input, and raise what its exit code and error line say."""
    errors = io.StringIO()
    before, sys.stdin = sys.stdin, io.StringIO(stdin)
    try:
        call_command("durable", verb, *arguments, stderr=errors, stdout=io.StringIO())
    except SystemExit as left:
        kind = {exits.REJECTED: Invalid}[int(str(left.code))]
        raise kind(errors.getvalue()) from None
    finally:
        sys.stdin = before


DOORS: Final[dict[str, Door]] = {
    "submit": lambda session, _turn, given: session.submit("odd", given),
    "submit as content": lambda session, _turn, given: session.submit(
        "odd", {"version": "1", "parts": [{"type": "text", "text": given}]}
    ),
    "steer": lambda _session, turn, given: turn.steer("odd", given),
    "inject": lambda _session, turn, given: turn.inject("odd", given),
    "respond with a result": lambda _session, turn, given: turn.respond(
        "odd", _asked(turn, "MANUAL"), given
    ),
    "respond with a reason": lambda _session, turn, given: turn.respond(
        "odd", _asked(turn, "APPROVAL"), {"decision": "deny", "reason": given}
    ),
    "set aside": lambda _session, turn, given: turn.set_aside(
        "odd", _asked(turn, "APPROVAL"), by="ann", reason=given
    ),
    "signal": lambda _session, turn, given: turn.signal("odd", "x.test.door", given),
    "standing rule": lambda session, _turn, given: session.runtime.create_rule(
        "acme", "tool", allow=True, by="ann", reason=given
    ),
    "actor of a control": lambda _session, turn, given: turn.pause("odd", given),
    "command line": lambda _session, _turn, given: _shell(
        "submit", "acme/s1", "-", "--request-id", "odd", stdin=given
    ),
    "command line, steer": lambda _session, turn, given: _shell(
        "steer", turn.turn_id, "-", "--request-id", "odd", stdin=given
    ),
    "repair of a transcript": lambda session, _turn, given: repair.repair(
        session.key.thread("aside"), "ann", given
    ),
}


@pytest.fixture
def turn(session: SessionHandle, store: Store) -> TurnHandle:
    """Give a Turn that waits for an approval and for a manual result."""
    session.create_thread("aside", AGENT.name)
    made = session.submit("r1", "hello")
    claim = store.claim()
    manual = IntentDraft(
        call_id="by hand",
        ordinal=1,
        name="by_hand",
        arguments={},
        binding={"name": "by_hand"},
        route="manual",
        effect="once",
    )
    gated = tool_intent(start=False).model_copy(update={"needs_approval": True})
    store.answered(claim, gated, manual)
    store.commit(claim, Park())
    return made


def test_every_entrance_of_the_table_has_a_door() -> None:
    """The table and the doors are one list."""
    assert tuple(DOORS) == entrances.PEOPLE


def _taken(act: Callable[[Any], object], shapes: Mapping[Any, Any], says: str = "") -> list[Any]:
    """Names of those shapes that were not refused, at once and in these words."""
    taken = []
    for name, given in shapes.items():
        began = time.thread_time()
        try:
            act(given)
        except (Invalid, NotFound) as refused:
            in_time = time.thread_time() - began < SECONDS
            if in_time and says in str(refused):
                continue
        taken.append(name)
    return taken


@poses("C13", "C14")
@pytest.mark.parametrize("name", entrances.PEOPLE)
def test_odd_text_of_people_is_refused(session: SessionHandle, turn: TurnHandle, name: str) -> None:
    """NUL and halves of pairs: Invalid, no row changes, and the request id can be used."""
    before = everything()

    taken = _taken(lambda given: DOORS[name](session, turn, given), entrances.ODD_TEXTS)

    assert taken == []
    assert everything() == before
    if name != "repair of a transcript":  # there is nothing to repair
        DOORS[name](session, turn, "even")
        assert everything() != before


@poses("C14")
@pytest.mark.parametrize("name", entrances.PEOPLE)
def test_a_whole_pair_passes(session: SessionHandle, turn: TurnHandle, name: str) -> None:
    """A character outside the first plane is one character everywhere."""
    DOORS[name](session, turn, "cheers \U0001f378")


@poses("C15")
@pytest.mark.parametrize("name", entrances.JSON_OF_PEOPLE)
def test_a_number_that_would_change_is_refused_with_advice(
    session: SessionHandle, turn: TurnHandle, name: str
) -> None:
    """The message says to send a string, and nothing is written."""
    before = everything()
    shapes = {odd: {"n": [number]} for odd, number in entrances.ODD_NUMBERS.items()}

    taken = _taken(lambda given: DOORS[name](session, turn, given), shapes, "send it as a string")

    assert taken == []
    assert everything() == before


@poses("C15")
def test_numbers_that_keep_their_value_come_back(session: SessionHandle, turn: TurnHandle) -> None:
    """Given as a result, they are read back equal, in their shortest form."""
    given: Any = entrances.GOOD_NUMBERS

    DOORS["respond with a result"](session, turn, given)

    view = next(call for call in turn.list_tools().items if call.name == "by_hand")
    assert view.result == given
    assert "'1.0': 1," in str(view.result)


@poses("C17")
@pytest.mark.parametrize("name", entrances.JSON_OF_PEOPLE)
def test_a_value_that_is_too_deep_is_refused_at_once(
    session: SessionHandle, turn: TurnHandle, name: str
) -> None:
    """By our own limit, not by the interpreter's stack."""
    before = everything()
    shapes = {levels: entrances.deep(levels) for levels in entrances.DEEP}

    taken = _taken(
        lambda given: DOORS[name](session, turn, given), shapes, "the limit is 100 levels"
    )

    assert taken == []
    assert everything() == before


@poses("C17")
@pytest.mark.parametrize("name", [*entrances.JSON_OF_PEOPLE, "submit", "steer"])
def test_a_value_that_is_too_large_is_refused_at_once(
    session: SessionHandle, turn: TurnHandle, name: str
) -> None:
    """Bytes and keys have limits of their own; nothing is written."""
    before = everything()
    shapes = {kind: entrances.large(kind) for kind in entrances.LARGE}

    taken = _taken(lambda given: DOORS[name](session, turn, given), shapes, "the limit")

    assert taken == []
    assert everything() == before


FOREIGN: Final = {
    "a message": ModelRequest(parts=[UserPromptPart("hello")]),
    "a part": UserPromptPart("hello"),
    "parts in a list": [UserPromptPart("hello")],
    "a picture": ImageUrl("https://example.org/a.png"),
    "a part in our own form": {"version": "1", "parts": [UserPromptPart("hello")]},
    "bytes": b"hello",
}


@covers("R037")
@pytest.mark.parametrize("name", ["submit", "steer", "inject"])
def test_objects_of_a_framework_are_no_input(
    session: SessionHandle, turn: TurnHandle, name: str
) -> None:
    """Input is a string or the versioned record; whatever else is Invalid and writes nothing."""
    before = everything()

    taken = _taken(lambda given: DOORS[name](session, turn, given), FOREIGN)

    assert taken == []
    assert everything() == before


LOOKUPS: Final[dict[str, Door]] = {
    "turn": lambda session, _turn, given: session.get_turn(given),
    "turn by id": lambda session, _turn, given: session.runtime.find_turn(given),
    "run": lambda _session, turn, given: turn.get_run(given),
    "steps": lambda _session, turn, given: turn.list_steps(given),
    "thread": lambda session, _turn, given: session.get_thread(given),
    "cursor": lambda session, _turn, given: session.list_turns(given),
    "input to withdraw": lambda _session, turn, given: turn.withdraw("odd", given),
    "interaction": lambda _session, turn, given: turn.respond("odd", given, response=True),
    "rule": lambda session, _turn, given: session.runtime.revoke_rule("acme", given, by="ann"),
}


@poses("C13", "C14")
@pytest.mark.parametrize("name", LOOKUPS)
def test_a_name_that_no_database_can_look_up_is_a_stable_answer(
    session: SessionHandle, turn: TurnHandle, name: str
) -> None:
    """Not found or invalid, never an error of the database; nothing is written."""
    before = everything()

    taken = _taken(lambda given: LOOKUPS[name](session, turn, given), entrances.ODD_TEXTS)

    assert taken == []
    assert everything() == before
    assert reads.turn(turn.turn_id).turn_id == turn.turn_id
