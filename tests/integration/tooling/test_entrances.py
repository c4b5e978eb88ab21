"""C16 and C17 where documents come in between the houses: read one way, within bounds, or not."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import pytest
from sqlalchemy import func, select

from hands_app.contract.errors import Rejected
from hands_app.contract.wire import encode
from hands_app.ledger import tables
from sessions_app.models import Event
from sessions_app.store import clock
from tests import entrances
from tests.covers import poses
from tests.integration.tooling.house import SOON, House

if TYPE_CHECKING:
    from collections.abc import Callable

    Deliver = Callable[[str], str]
    Door = Callable[[House], tuple[str, Deliver]]

SECONDS: Final = 1.0
"""Of this thread alone: a busy machine changes nothing in it."""


def _update(house: House) -> tuple[str, Deliver]:
    """The first update of a call, and the intake that takes it."""
    house.ask()
    house.carry_commands()
    return encode(house.take_updates()[0]), house.intake.receive


def _command(house: House) -> tuple[str, Deliver]:
    """A command on its way, and the pool that admits it."""
    house.ask()
    house.dispatch.due()
    return house.post.take()[0].text, house.pool.obey


def _control(house: House) -> tuple[str, Deliver]:
    """A question about a call, and the pool that answers it."""
    house.admitted()
    with clock.offset(SOON):
        house.dispatch.due()
    return house.post.take()[0].text, lambda text: house.pool.obey(text, control=True)


DOORS: Final[dict[str, Door]] = {
    "update from Hands": _update,
    "command to Hands": _command,
    "control to Hands": _control,
}


def _with(text: str, members: str) -> str:
    """The document with these members in front."""
    return f"{{{members},{text[1:]}"


def _spoiled(text: str) -> dict[str, str]:
    """The document in each form that has two readings, or none within bounds."""
    return {
        "at the root": _with(text, '"version":1'),
        "told apart by an escape": _with(text, '"\\u0076ersion":1'),
        "three levels deep": _with(text, '"x":[{"b":{"c":1,"c":2}}]'),
        "two roots": text + text,
        **{
            f"{levels} levels": _with(text, f'"x":{"[" * levels}{"]" * levels}')
            for levels in entrances.DEEP
        },
        "10 MB of text": _with(text, f'"x":"{"x" * 10_000_000}"'),
        "a million keys": _with(text, '"x":{' + ",".join(f'"{n}":0' for n in range(10**6)) + "}"),
    }


def _rows(house: House) -> tuple[int, int]:
    """Events of the Brain and of the ledger."""
    with house.pool.database.engine.begin() as connection:
        told = connection.execute(select(func.count()).select_from(tables.event)).scalar_one()
    return Event.objects.count(), told


def test_every_entrance_of_the_table_has_a_door() -> None:
    """The table and the doors are one list."""
    assert tuple(DOORS) == entrances.TEXTS_OF_JSON


@poses("C16", "C17")
@pytest.mark.parametrize("name", DOORS)
def test_a_document_with_two_readings_or_none_is_refused(house: House, name: str) -> None:
    """Double keys, a second root, too deep, too large: nothing is written, and it was not used up.

    The good document is taken afterwards.
    """
    text, deliver = DOORS[name](house)
    before, taken = _rows(house), []

    for kind, spoiled in _spoiled(text).items():
        began = time.thread_time()
        try:
            if deliver(spoiled) != "unreadable":
                taken.append(kind)
        except Rejected:
            pass
        assert time.thread_time() - began < SECONDS, kind

    assert taken == []
    assert _rows(house) == before
    assert deliver(text) not in {"unreadable", "duplicate"}
