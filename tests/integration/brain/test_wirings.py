"""One process for everything, or an API without agents before a Brain: the same rows (C37)."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import pytest
from django.apps import apps
from django.db.models import AutoField

from hands_app.contract.tools import tool
from sessions_app.contract.identity import SessionKey
from sessions_app.harnesses.scripted.model import Call, Reply, Transcript
from sessions_app.models import Host, ScanRun, Session, StoreState
from sessions_app.registry import registry
from sessions_app.store import admission
from tests.covers import poses
from tests.integration.brain import front
from tests.stores import AGENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.db.models import Model

    from tests.integration.brain.brains import Brains
    from tests.integration.brain.farm import Farm

_OWN: Final = re.compile(r"sha256:[0-9a-f]+|\d+\.[0-9a-f]{32}|\b[a-z]+_[0-9a-z]{26}\b")
"""What is new in each run of the same: ids, lease tokens, digests of what holds an id."""
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\d]*(Z|[+-]\d\d:\d\d)?")
_OF_PROCESSES: Final = (Host, ScanRun, StoreState)
_SET_UP: Final = "import django; django.setup()"
_SERVE: Final = "from tests.integration.brain import front; front.main({!r})"


@tool(approval="always")
def write(to: str) -> str:
    """Write to somebody."""
    return f"wrote to {to}"


def _reply(transcript: Transcript) -> Reply:
    asks = transcript[-1].get("text") == "write to them"
    return Reply("may I?", (Call("write", {"to": "a@b"}),)) if asks else Reply("what else?")


@pytest.fixture
def served(
    brains: Brains, farm: Farm, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], dict[str, str]]:
    """Give the wirings: by name, each serves the scenes in Sessions of a namespace of its name."""
    brains.agent(_reply, write, round_limit=7, token_limit=9000)
    brains.start(scan=0.05)

    def serve(wiring: str) -> dict[str, str]:
        for scene in front.SCENES:
            admission.create_session(SessionKey(wiring, scene), AGENT)
        if wiring == "one":
            monkeypatch.setattr(registry, "_definitions", brains.registry._definitions)
            return front.serve(wiring)
        farm.site.environment["DJANGO_SETTINGS_MODULE"] = "durable_site.settings"
        told: dict[str, str] = json.loads(
            farm.site.run("-c", f"{_SET_UP}; {_SERVE.format(wiring)}")
        )
        return told

    return serve


@poses("C37")
def test_both_wirings_leave_the_same_rows(served: Callable[[str], dict[str, str]]) -> None:
    """Cancelled, denied, closed: an API process without the agent leaves what a whole one does."""
    whole = served("one")
    first = _rows()
    apart = served("two")
    second = {name: rows.items() - first[name].items() for name, rows in _rows().items()}

    assert AGENT.name in whole.pop("agents").split()
    assert AGENT.name not in apart.pop("agents").split()
    assert whole == apart
    assert whole == {
        "cancelled": "CANCELLED",
        "denied": "COMPLETED",
        "closed": "COMPLETED, close refused",
    }
    assert _plain(dict(second[n]) for n in first) == _plain(first.values())
    assert {"Interaction", "JournalEntry", "Message", "Command"} <= {n for n in first if first[n]}


def _rows() -> dict[str, dict[Any, str]]:
    """Every row that is of a Session, as text, by table and key."""
    models = apps.get_app_config("sessions_app").get_models()
    return {each.__name__: _table(each) for each in models if each not in _OF_PROCESSES}


def _table(model: type[Model]) -> dict[Any, str]:
    scenes = dict(Session.objects.values_list("pk", "session_id"))
    return {row.pk: _text(row, scenes) for row in model._base_manager.all()}


def _text(row: Model, scenes: dict[str, str]) -> str:
    """The row without its number, its times and its namespace; its Session by the scene."""
    fields = [each for each in row._meta.concrete_fields if not isinstance(each, AutoField)]
    values = {each.attname: getattr(row, each.attname) for each in fields}
    values.pop("duration_ms", None)
    if "session_id" in values:
        values["session_id"] = scenes.get(values["session_id"], values["session_id"])
    shown = {k: "time" if isinstance(v, datetime) else v for k, v in values.items()}
    return _TIME.sub("time", f"{type(row).__name__} {shown}").replace("'two'", "'one'")


def _plain(tables: Any) -> list[str]:
    """All rows in an order that depends on no id, each id as the number of its first place."""
    found = sorted((row for table in tables for row in table.items()), key=_nameless)
    known: dict[str, str] = {}
    return [
        _OWN.sub(lambda own: known.setdefault(own[0], f"#{len(known)}"), text) for _, text in found
    ]


def _nameless(row: tuple[Any, str]) -> tuple[str, str]:
    key, text = row
    return _OWN.sub("#", text), str(key).zfill(20)
