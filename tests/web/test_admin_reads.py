"""The admin shows every row, finds it by any id, and costs the same for any number of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from hands_app.contract.ids import new_id
from sessions_app.admin.columns import LONGEST
from sessions_app.admin.filters import WordFilter
from sessions_app.admin.paging import BoundedPaginator
from sessions_app.models import Event, Session, ToolCall, Turn
from sessions_app.store import reads
from tests.web.pages import list_of, page_of, read
from tests.web.rows import fill, models

if TYPE_CHECKING:
    from django.db.models import Model, QuerySet

    from sessions_app.admin.readonly import ReadOnly
    from tests.integration.invariants.world import World

MOST_QUERIES = 10


def _admin(model: type[Model]) -> ReadOnly:
    return cast("ReadOnly", admin.site.get_model_admin(model))


def _rows(model: type[Model]) -> QuerySet[Any]:
    return model._default_manager.order_by("pk")


def _found(operator: Client, model: type[Model], term: str) -> list[object]:
    response = operator.get(list_of(model), {"q": term})
    assert response.status_code == 200, f"{model.__name__} {term}"
    return [row.pk for row in response.context["cl"].result_list]


def _queries(operator: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        read(operator, address)
    return len(captured)


def test_every_model_has_a_list_that_leads_to_its_rows(operator: Client, filled: World) -> None:
    """The list of each model answers with a link to each of its rows."""
    for model in models():
        addresses = read(operator, list_of(model)).addresses
        rows = list(_rows(model))
        assert rows, model
        for row in rows:
            assert any(address.startswith(page_of(row)) for address in addresses), row


def test_every_row_has_a_page(operator: Client, filled: World) -> None:
    """The page of each row answers and names it, at a bounded number of queries."""
    for model in models():
        for row in _rows(model)[:2]:
            assert str(row.pk) in read(operator, page_of(row)).text
        assert _queries(operator, page_of(_rows(model)[0])) <= 2 * MOST_QUERIES


def test_every_id_leads_to_its_rows(operator: Client, filled: World) -> None:
    """A search for an id of any kind, or for a name, finds the rows that belong to it."""
    for model in models():
        names = _admin(model).names
        for column in (*names.ids.values(), *names.words):
            rows = _rows(model).filter(**{f"{column}__isnull": False}).values_list("pk", column)
            assert rows, f"{model.__name__} has no {column}"
            assert rows[0][0] in _found(operator, model, rows[0][1]), f"{model} {column}"


def test_a_session_leads_to_its_rows(operator: Client, filled: World) -> None:
    """A search for a Session by its public name, alone or in its namespace, finds what is in it."""
    for model in models():
        path = _admin(model).names.session
        if path is not None:
            row = _rows(model).filter(**{f"{path}session_id": filled.key.session_id})[0]
            assert row.pk in _found(operator, model, str(filled.key)), model
            assert row.pk in _found(operator, model, filled.key.session_id), model


def test_a_search_for_nothing_known_finds_nothing(operator: Client, filled: World) -> None:
    """An id that does not exist and a word that nobody has give an empty list, not an error."""
    for model in models():
        for term in (new_id("turn_"), "acme/nobody", "a/b/c%"):
            assert _found(operator, model, term) == []


def test_a_public_name_may_look_like_an_id(operator: Client, filled: World) -> None:
    """A Session whose own name begins like an id is found by that name, and found once."""
    key = filled.session.id
    Session.objects.update(session_id="turn_of_the_tide")

    assert _found(operator, Session, "turn_of_the_tide") == [key]


def test_lists_cost_the_same_for_more_rows(operator: Client, filled: World) -> None:
    """The number of queries for a list does not grow with its rows."""
    few = {model: _queries(operator, list_of(model)) for model in models()}
    fill()
    fill()

    assert {model: _queries(operator, list_of(model)) for model in models()} == few
    assert max(few.values()) <= MOST_QUERIES


def test_every_filter_answers(operator: Client, filled: World) -> None:
    """A choice of each filter, or a word in one that takes words, gives a list."""
    for model in models():
        changes = operator.get(list_of(model)).context["cl"]
        for spec in changes.filter_specs:
            *_, last = spec.choices(changes)
            word = f"?{spec.parameter}=word&q=x" if isinstance(spec, WordFilter) else ""
            read(operator, f"{list_of(model)}{word or last['query_string']}")


def test_a_word_filter_narrows_the_list(operator: Client, filled: World) -> None:
    """The rows of one namespace alone are listed, and the filter keeps the other parameters."""
    fill()
    Session.objects.exclude(id=filled.session.id).update(namespace="other")

    response = operator.get(list_of(Turn), {"namespace": "other", "status__exact": "QUEUED"})
    rows = response.context["cl"].result_list

    assert {row.session.namespace for row in rows} == {"other"}
    assert {row.status for row in rows} == {"QUEUED"}
    assert b'name="status__exact" value="QUEUED"' in response.content


def test_the_path_from_a_session_to_its_events_is_links(operator: Client, filled: World) -> None:
    """Each step from a Session to Threads, Turns, Runs, Steps, model calls and events is a link."""
    turn = Turn.objects.get(request_id="request-1")
    call = ToolCall.objects.get(turn=turn)
    session = read(operator, page_of(filled.session)).addresses
    page = read(operator, page_of(turn)).addresses

    assert {
        f"/admin/sessions_app/{name}/?q={filled.session.id}" for name in ("thread", "turn")
    } <= {*session}
    lists = ("run", "step", "modelcall", "toolcall", "message", "event")
    assert {f"/admin/sessions_app/{name}/?q={turn.id}" for name in lists} <= {*page}
    assert call.pk in _found(operator, ToolCall, turn.id)
    assert len(_found(operator, Event, turn.id)) == Event.objects.filter(turn_id=turn.id).count()


def test_a_turn_says_why_it_does_not_run(operator: Client, filled: World) -> None:
    """The page of a Turn has the explanation that every surface gives, and the next actions."""
    turn = Turn.objects.get(request_id="request-3")
    explained = reads.explain(turn.id)

    text = read(operator, page_of(turn)).text

    assert explained.text in text
    assert all(str(action) in text for action in explained.next_actions)


def test_an_empty_list_says_why(operator: Client) -> None:
    """A list without rows has a sentence for people, and one without matches another."""
    for model in models():
        if not _rows(model).exists():
            assert _admin(model).nothing in read(operator, list_of(model)).text
            assert "Nothing matches" in read(operator, f"{list_of(model)}?q=nobody").text


def test_a_long_list_is_cut_and_says_so(
    operator: Client, filled: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are counted up to a bound only."""
    monkeypatch.setattr(BoundedPaginator, "most", 2)

    page = read(operator, list_of(Event))

    assert "Only the first 2 are listed" in page.text


def test_pages_of_a_list_are_bounded(operator: Client, filled: World) -> None:
    """Asking for everything gives one page."""
    while Event.objects.count() <= _admin(Event).list_per_page:
        fill()
    per_page = _admin(Event).list_per_page

    response = operator.get(list_of(Event), {"all": ""})

    assert len(response.context["cl"].result_list) == per_page


def test_large_values_are_cut(operator: Client, filled: World) -> None:
    """An input of a million characters makes neither a list nor a page of that size."""
    parts = [{"type": "text", "text": "long " * 200_000}]
    Turn.objects.update(input={"version": "1", "parts": parts})
    turn = Turn.objects.all()[0]

    assert len(read(operator, list_of(Turn)).text) < 20_000
    shown = read(operator, page_of(turn)).text
    assert "(cut)" in shown
    assert shown.count("long ") < LONGEST


@pytest.mark.parametrize("query", ["q=%00", "namespace=%00", "status__exact=%00", "p=99", "p=x"])
def test_a_broken_address_is_no_failure(operator: Client, filled: World, query: str) -> None:
    """Characters that no database holds, and pages that do not exist, are refused or empty."""
    assert operator.get(f"{list_of(Turn)}?{query}").status_code < 500


def test_a_page_that_does_not_exist_is_no_failure(operator: Client, filled: World) -> None:
    """An unknown id leads back with a message, whatever is in it."""
    for key in ("turn_none", "%00", "_00", "a_2Fb"):
        assert operator.get(f"{list_of(Turn)}{key}/change/").status_code == 302


def test_a_turn_is_shown_by_a_server_that_keeps_no_connection(
    operator: Client, filled: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read within a snapshot never gives up the connection that the snapshot stands on."""
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 0)
    connection.close()
    turn = Turn.objects.earliest("pk")

    assert reads.explain(turn.pk).text in read(operator, page_of(turn)).text


def test_the_bare_address_leads_to_the_admin(client: Client) -> None:
    """Whoever opens what `make up` prints first does not meet a page that is missing."""
    assert client.get("/").headers["Location"] == reverse("admin:index")


def test_nothing_is_shown_without_signing_in(filled: World) -> None:
    """Anonymous people and users who are no staff see the sign-in page only."""
    anybody = Client()
    for client in (Client(), anybody):
        if client is anybody:
            client.force_login(User.objects.create_user("bob"))
        for model in models():
            assert "/login/" in client.get(list_of(model)).headers["Location"]
            assert "/login/" in client.get(page_of(_rows(model)[0])).headers["Location"]
