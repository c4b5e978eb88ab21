"""Purging: a closed Session goes from every store, and only a marker and an audit entry stay."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.apps import apps
from sqlalchemy import select

from durable_site.outside import HandsLedger
from hands_app.contract.faults import plan
from hands_app.contract.ids import new_id
from hands_app.contract.messages import Update, UpdateKind
from hands_app.ledger import purging as ledger_purging
from hands_app.ledger import tables
from sessions_app.contract.backend import EntryDraft, Finish, Go, MessageDraft, Park, text_part
from sessions_app.contract.content import user_input
from sessions_app.contract.errors import Conflict, NotFound, Unavailable
from sessions_app.contract.identity import SessionKey
from sessions_app.contract.status import EntryKind
from sessions_app.models import AuditEntry, Host, PurgeMarker, Session, StoreState, ToolCall, Turn
from sessions_app.store import admission, clock, controls, purging
from tests.covers import poses
from tests.integration.events.leftovers import everywhere
from tests.integration.tooling.conftest import house, pool
from tests.integration.tooling.house import House, Letter, intent
from tests.integration.tooling.pool import effects
from tests.stores import FRAME, Gate, in_thread, wait_until_blocked

if TYPE_CHECKING:
    from django.db.models import Model

    from hands_app.ledger.engine import Database
    from tests.stores import Store

__all__ = ["house", "pool"]

CANARY = "canary-7f3a"
KEY = SessionKey("acme", "doomed")
A_DAY_LATER = timedelta(days=1, hours=1)


@dataclass
class Doomed:
    """Both houses, and the letters that the Brain had sent for the Session."""

    house: House
    sent: list[Letter]

    @property
    def ledger(self) -> Database:
        """The ledger of the pool."""
        return self.house.pool.database


@pytest.fixture
def doomed(house: House, monkeypatch: pytest.MonkeyPatch) -> Doomed:
    """Give both houses with a closed Session whose canary is wherever text of a Turn can be."""
    url = house.pool.database.url.render_as_string(hide_password=False)
    monkeypatch.setenv("HANDS_DATABASE_URL", url)
    made = Doomed(house, _lives(house))
    everywhere(Turn.objects.get(), CANARY)
    admission.close_session(KEY)
    return made


def _lives(house: House) -> list[Letter]:
    """A Turn with words, an inject and a call at Hands, to its end; gives what was sent for it."""
    store = house.store
    turn_id = store.submit(store.session(KEY.session_id), text=CANARY)
    claim = store.claim()
    controls.inject(KEY.thread(), turn_id, "i1", user_input(CANARY))
    thought = EntryDraft(kind=EntryKind.ITEMS, body={"thought": CANARY})
    store.answered(claim, intent(arguments={"text": CANARY}))
    said = MessageDraft(ordinal=1, parts=(text_part(CANARY),))
    store.commit(claim, Go(), entries=(thought,), messages=(said,))
    store.commit(claim, Park())
    house.dispatch.due()
    sent = house.post.take()
    for letter in sent:
        house.pool.obey(letter.text)
    house.pool.run()
    _prints(house.pool.database)
    house.carry_updates()
    claim = store.claim()
    applied = tuple(ToolCall.objects.values_list("pk", flat=True))
    frame = FRAME.model_copy(update={"body": {"state": CANARY}})
    store.commit(claim, Go(), applied=applied, frame=frame)
    store.commit(claim, Finish(result={"parts": [CANARY]}), frame=frame)
    return sent


def _prints(ledger: Database) -> None:
    """Leave a chunk of output."""
    execution_id = ToolCall.objects.get().pk
    chunk = {
        "execution_id": execution_id,
        "start": 0,
        "size": 5,
        "attempt": 1,
        "body": CANARY.encode(),
    }
    with ledger.change("progress") as connection:
        connection.execute(tables.output_chunk.insert().values(chunk))


def _brain() -> dict[str, str]:
    """Every row of the Brain's tables as text."""
    models = apps.get_app_config("sessions_app").get_models()
    return {each.__name__: str(list(each._base_manager.values())) for each in models}


def _hands(ledger: Database) -> dict[str, str]:
    """Every row of the ledger's tables as text."""
    with ledger.read() as connection:
        return {
            table.name: str(list(connection.execute(select(table)).mappings()))
            for table in tables.metadata.sorted_tables
        }


def _purge() -> purging.Purge:
    return purging.purge(KEY, actor="ann", reason="asked for by the customer")


def test_the_canary_is_everywhere_at_first(doomed: Doomed) -> None:
    """Or else the tests below would prove nothing."""
    kept = {"Host", "ScanRun", "StoreState", "PurgeMarker", "Token"}
    without = {"Run", "Step", "ModelCall", "Thread", "Session", "Command"}
    holds = {name for name, rows in _brain().items() if CANARY in rows}

    assert holds >= set(_brain()) - kept - without
    assert {"hands_execution", "hands_execution_event", "hands_output_chunk"} <= {
        name for name, rows in _hands(doomed.ledger).items() if CANARY in rows
    }


@poses("T49", "C40")
def test_nothing_of_a_purged_session_is_left(doomed: Doomed) -> None:
    """T49: no table of either house holds a row of it; a marker and an audit entry say so."""
    session = Session.objects.get()
    planned = purging.plan(KEY)

    done = _purge()

    assert done == planned
    left = {name for name, rows in _brain().items() if rows != "[]"}
    assert left == {each.__name__ for each in (Host, StoreState, PurgeMarker, AuditEntry)}
    assert [name for name, rows in _brain().items() if CANARY in rows] == []
    assert [name for name, rows in _hands(doomed.ledger).items() if CANARY in rows] == []
    (marker,), (entry,) = PurgeMarker.objects.all(), AuditEntry.objects.all()
    assert (marker.namespace, marker.session_id, marker.actor) == ("acme", "doomed", "ann")
    assert marker.removed["events"] == planned.rows["events"] > 0
    assert (entry.action, entry.target, entry.session_id) == ("session.purge", session.pk, None)


@poses("T49")
def test_a_dry_run_takes_nothing(doomed: Doomed) -> None:
    """It counts rows, and entries of the ledger, and changes none of them."""
    before = _brain(), _hands(doomed.ledger)

    found = purging.plan(KEY)

    assert (found.rows["turns"], found.rows["tool calls"]) == (1, 1)
    assert found.outside["hands_execution"] == 1
    assert (_brain(), _hands(doomed.ledger)) == before


def test_the_name_is_free_again(doomed: Doomed) -> None:
    """A new Session of that name is another one: old cursors and ids are foreign to it."""
    old = Session.objects.get().pk
    _purge()

    doomed.house.store.session(KEY.session_id)

    assert Session.objects.get().pk != old
    with pytest.raises(Conflict, match="is open; close it"):
        purging.plan(KEY)


def test_an_open_session_is_not_purged(store: Store) -> None:
    """Closing comes first, and with it the end of all work."""
    key = store.session()

    for act in (purging.plan, lambda key: purging.purge(key, actor="ann", reason="")):
        with pytest.raises(Conflict, match="is open; close it"):
            act(key)
    assert Session.objects.count() == 1


def test_an_unknown_session_is_not_found(store: Store) -> None:
    """Nor is one that was purged before."""
    with pytest.raises(NotFound):
        _purge()


def test_an_update_that_meets_a_purge_is_foreign(doomed: Doomed) -> None:
    """Its call was known when it came, and is gone once the Session's lock is free."""
    call = ToolCall.objects.get()
    update = Update(
        event_id=new_id("evt_"),
        namespace="durable",
        execution_id=call.pk,
        request_digest=call.request_digest,
        route=call.route,
        sequence=call.inbox_position + 1,
        kind=UpdateKind.PROGRESS,
        at=clock.now(),
    )
    gate = Gate()

    with plan({"session.purge.before_commit": gate}):
        purges = in_thread(_purge)
        assert gate.reached.wait(20)
        brings = in_thread(lambda: doomed.house.bring(update))
        wait_until_blocked(brings)
        gate.open()
        purges.result(20)

        assert brings.result(20) == "foreign"


@poses("S8")
def test_a_late_command_starts_nothing_after_a_purge(doomed: Doomed) -> None:
    """S8: while a command may be under way, a grave without content keeps its place."""
    call = ToolCall.objects.get()
    ran = list(effects)

    _purge()

    with doomed.ledger.read() as connection:
        (grave,) = connection.execute(select(tables.execution)).mappings()
    assert (grave["execution_id"], grave["state"]) == (call.pk, "CANCELLED")
    assert (grave["arguments"], grave["binding"], grave["origin"]) == (None, None, None)
    assert [doomed.house.pool.obey(letter.text) for letter in doomed.sent] == ["tombstoned"]
    doomed.house.pool.run()
    assert effects == ran


def test_an_execution_past_its_day_leaves_no_grave(
    doomed: Doomed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then no command can start it any more, and its row goes as well."""
    ids = list(ToolCall.objects.values_list("pk", flat=True))
    ledger_ = doomed.ledger
    clock = ledger_.clock
    monkeypatch.setattr(ledger_, "clock", lambda connection: clock(connection) + A_DAY_LATER)

    gone = ledger_purging.purge(ledger_, ids)

    assert gone["hands_execution"] == 1
    assert ledger_purging.count(ledger_, ids) == {}
    assert ledger_purging.purge(ledger_, ids) == {}


def test_a_call_that_still_runs_stops_a_purge(doomed: Doomed) -> None:
    """Nothing of the Session is deleted, in neither house."""
    with doomed.ledger.change("host") as connection:
        doubt = {"state": "UNKNOWN", "result": "{}", "output_sealed_at": None}
        connection.execute(tables.execution.update().values(doubt))
    before = _brain()

    with pytest.raises(Conflict, match="is UNKNOWN; cancel or reconcile it first"):
        _purge()
    assert _brain() == before


def test_a_ledger_that_is_away_stops_a_purge(
    doomed: Doomed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it holds could not be found again once the rows are gone."""
    monkeypatch.setenv("HANDS_DATABASE_URL", "sqlite:////nowhere/at/all.sqlite3")
    before = _brain()

    with pytest.raises(Unavailable, match="the Hands ledger cannot be asked"):
        _purge()
    assert _brain() == before


def test_a_purge_that_broke_off_is_begun_again(doomed: Doomed) -> None:
    """A death between the houses leaves the rows, and the second purge finds the rest."""

    def die(_name: str) -> None:
        raise MemoryError

    with plan({"session.purge.before_commit": die}), pytest.raises(MemoryError):
        _purge()
    assert Session.objects.count() == 1
    assert PurgeMarker.objects.count() == 0

    done = _purge()

    assert done.outside == {}
    assert Session.objects.count() == 0


def test_every_table_of_a_session_is_named() -> None:
    """A model that refers to a Session, straight or through another, is emptied by a purge."""
    named = set(purging.OF_A_SESSION)
    models = apps.get_app_config("sessions_app").get_models()

    assert [each.__name__ for each in models if _refers(each, named) and each not in named] == []


def _refers(model: type[Model], named: set[type[Model]]) -> bool:
    return any(
        field.related_model in named for field in model._meta.get_fields() if field.many_to_one
    )


def test_a_session_without_calls_asks_no_ledger() -> None:
    """A deployment that has no Hands can purge too."""
    assert HandsLedger().remove("ses_1", []) == {}
