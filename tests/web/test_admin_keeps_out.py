"""The admin changes nothing, shows nothing private, and runs nothing that was stored (C78)."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import CharField, TextField
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.utils.http import urlencode

from sessions_app.admin.policy import POLICY, content_security_policy
from sessions_app.models import Checkpoint, Event, JournalEntry, Run, Thread, ToolCall
from sessions_app.models.fields import CanonicalJSON
from tests.covers import poses
from tests.web.pages import Page, list_of, page_of, read
from tests.web.rows import models

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.db.models import Field, Model

    from tests.integration.invariants.world import World

CORPUS = (
    "\"'><durablexss onfocus=x()>"
    "<script>durablexss()</script>"
    "javascript:durablexss()"
    "<svg/onload=durablexss()>"
    "[a](javascript:durablexss())"
    "\u2028"
    "{{ durablexss }}{% durablexss %}"
    "</textarea></title></style>"
    "&lt;durablexss&gt;"
)


def test_nobody_writes_a_list(operator: Client, filled: World) -> None:
    """Whatever is posted to a list, a bulk action above all, is forbidden."""
    action = {"action": "delete_selected", "_selected_action": "1"}
    for model in models():
        before = model._default_manager.count()

        assert operator.post(list_of(model)).status_code == 403
        assert operator.post(list_of(model), action).status_code == 403
        assert operator.put(list_of(model)).status_code == 403
        assert model._default_manager.count() == before


def test_nobody_adds_changes_or_deletes(operator: Client, filled: World) -> None:
    """A superuser may not add a row, change one or delete one, nor see the forms for it."""
    for model in models():
        row = model._default_manager.order_by("pk")[0]
        delete = page_of(row).replace("/change/", "/delete/")

        assert operator.post(page_of(row), {"status": "changed"}).status_code == 403
        for address in (f"{list_of(model)}add/", delete):
            assert operator.get(address).status_code == 403
            assert operator.post(address, {"post": "yes"}).status_code == 403
        row.refresh_from_db()


def test_no_page_offers_a_change(operator: Client, filled: World) -> None:
    """No page has a link or a button that would add, save or delete a row."""
    for model in models():
        for address in (list_of(model), page_of(model._default_manager.order_by("pk")[0])):
            page = read(operator, address)
            assert "Save" not in page.text
            assert f"{list_of(model)}add/" not in page.addresses
            assert not [each for each in page.addresses if each.endswith("/delete/")]


def test_native_state_is_shown_to_nobody(operator: Client, filled: World) -> None:
    """Bodies of journal and checkpoints, and where they lie, appear on no page (law 10)."""
    secret = "the agent's own thoughts"
    JournalEntry.objects.update(body={"thought": secret})
    Checkpoint.objects.update(body=None, object_ref="objects/secret-place")

    for model in (JournalEntry, Checkpoint):
        for address in (list_of(model), *map(page_of, model._default_manager.all())):
            page = read(operator, address)
            assert secret not in page.text
            assert "secret-place" not in page.text


def test_tokens_are_shown_in_part_only(operator: Client, filled: World) -> None:
    """No page has a whole token of a lease: who has one can write."""
    tokens = [*Run.objects.values_list("token", flat=True)]

    for model in models():
        for address in (list_of(model), page_of(model._default_manager.order_by("-pk")[0])):
            content = operator.get(address).content.decode()
            assert not [token for token in tokens if token in content]
    assert Thread.objects.filter(lease_token__in=tokens).exists()
    assert ToolCall.objects.filter(start_token__in=tokens).exists()


@poses("C78")
def test_stored_text_is_text(operator: Client, filled: World) -> None:
    """Hostile text in every column makes no element, attribute or address of its own (C78)."""
    _write_everywhere(lambda length: "x" * length)
    harmless = [(address, read(operator, address)) for address in _addresses()]
    _write_everywhere(lambda length: CORPUS[:length])
    hostile = [(address, read(operator, address)) for address in _addresses()]

    for (_, before), (address, after) in zip(harmless, hostile, strict=True):
        assert after.elements == before.elements, address
        assert not [each for each in after.addresses if not each.startswith(("/", "?", "#", "."))]
        assert after.inline == [], address
    assert sum(CORPUS[:8] in page.text for _, page in hostile) > len(hostile) / 2


def test_the_reader_of_pages_sees_what_would_run() -> None:
    """Hostile text that stood in a page as it is would be noticed, by element and handler."""
    page = Page()

    page.feed(f'<a href="{CORPUS}">{CORPUS}<a href="javascript:x()">')

    assert "durablexss" in {element for element, _ in page.elements}
    assert "javascript:x()" in page.addresses
    assert any("onload" in each for each in page.inline)
    assert any("script" in each for each in page.inline)


@poses("C78")
def test_hostile_searches_are_text(operator: Client, filled: World) -> None:
    """What is typed into a search or a filter comes back as text (C78)."""
    harmless = read(operator, f"{list_of(Run)}?{urlencode({'q': 'x', 'namespace': 'x'})}")
    hostile = read(operator, f"{list_of(Run)}?{urlencode({'q': CORPUS, 'namespace': CORPUS})}")

    assert hostile.elements == harmless.elements
    assert hostile.inline == []


def _addresses() -> list[str]:
    """Give every list, and pages and a history of each model."""
    found = []
    for model in models():
        pages = [page_of(row) for row in model._default_manager.order_by("pk")[:2]]
        found += [list_of(model), *pages, pages[0].replace("/change/", "/history/")]
    return found


def _texts(model: type[Model]) -> list[Field[Any, Any]]:
    """Give the columns that hold text from outside."""
    return [
        field
        for field in model._meta.concrete_fields
        if isinstance(field, CharField | TextField)
        and not (field.primary_key or field.choices or field.is_relation)
    ]


def _write_everywhere(text: Callable[[int], str]) -> None:
    """Put text into every column that takes it; what a constraint refuses stays as it is."""
    rows = [row for model in models() for row in model._default_manager.order_by("pk")]
    for number, row in enumerate(rows):
        values: dict[str, object] = {}
        for column in _texts(type(row)):
            if isinstance(column, CanonicalJSON):
                values[column.name] = {text(300): [text(300), {"a": text(300)}]}
            else:
                room = min(column.max_length or 300, 300)
                values[column.name] = f"{text(room - 3)}{number}"
        _store(row, values)


def _store(row: Model, values: dict[str, object]) -> None:
    if isinstance(row, Event):  # events never change; another one takes its place
        type(row)._default_manager.filter(pk=row.pk).delete()
        for name, value in values.items():
            setattr(row, name, value)
        row.save(force_insert=True)
        return
    for name, value in values.items():
        try:
            with transaction.atomic():
                type(row)._default_manager.filter(pk=row.pk).update(**{name: value})
        except IntegrityError:
            continue


def test_every_answer_has_a_strict_policy(operator: Client, filled: World) -> None:
    """Scripts and styles come from files of ours alone, on every kind of page and on refusals."""
    anonymous = Client()
    answers = [
        operator.get("/admin/"),
        operator.get(list_of(Run)),
        operator.get(page_of(Run.objects.all()[0])),
        operator.post(list_of(Run)),
        operator.get("/admin/nothing/here/"),
        anonymous.get("/admin/login/"),
    ]

    for answer in answers:
        assert answer.headers["Content-Security-Policy"] == POLICY
    assert "unsafe" not in POLICY


def test_pages_keep_to_the_policy(operator: Client, filled: World) -> None:
    """No page of the admin needs what the policy forbids: what is inline or from elsewhere."""
    User.objects.create_user("bob")
    addresses = ["/admin/", "/admin/auth/user/", "/admin/auth/user/add/", "/admin/password_change/"]
    for address in (*addresses, *map(list_of, models())):
        page = read(operator, address)
        assert page.inline == []
        assert not [each for each in page.addresses if "//" in each]


def test_a_page_with_its_own_policy_keeps_it() -> None:
    """The policy is for pages that bring none."""
    own = HttpResponse(headers={"Content-Security-Policy": "default-src 'none'"})

    answer = content_security_policy(lambda _request: own)(HttpRequest())

    assert isinstance(answer, HttpResponse)
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'"


async def test_streams_get_the_policy_without_a_thread() -> None:
    """Behind an asynchronous view the policy is added asynchronously."""

    async def view(_request: HttpRequest) -> HttpResponse:
        return HttpResponse()

    answer = content_security_policy(view)(HttpRequest())

    assert isinstance(answer, Awaitable)
    assert (await answer).headers["Content-Security-Policy"] == POLICY
