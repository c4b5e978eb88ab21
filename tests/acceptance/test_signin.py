"""The one-time sign-in link, through Django's own middleware and database."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import User
from django.core import signing
from django.db import connections
from django.test import Client
from django.urls import include, path

from durable_site.embedded import signin

urlpatterns = [path("admin/", admin.site.urls), path("", include(signin))]

pytestmark = [pytest.mark.usefixtures("database"), pytest.mark.urls(__name__)]


@pytest.fixture
def link() -> Iterator[str]:
    """A fresh link."""
    yield signin.mint(settings.STATE_DIR)
    signin.forget_all(settings.STATE_DIR)


def confirm(link: str, client: Client | None = None) -> int:
    """Do what a browser does, forgery protection included, and return the last status."""
    client = client or Client(enforce_csrf_checks=True)
    page = client.get(link)
    found = re.search(r'csrfmiddlewaretoken" value="(\w+)"', page.content.decode())
    if found is None:
        return page.status_code
    return client.post(link, {"csrfmiddlewaretoken": found[1]}).status_code


def test_the_link_signs_in_a_superuser_without_a_password(link: str) -> None:
    """After the confirmation the admin is open; no account existed before."""
    client = Client(enforce_csrf_checks=True)
    assert not User.objects.exists()

    assert confirm(link, client) == 302

    assert client.get("/admin/").status_code == 200
    assert not User.objects.get().has_usable_password()


def test_looking_at_the_link_uses_nothing_up(link: str) -> None:
    """A preview of the link neither signs in nor spoils it, and makes no account."""
    preview = Client()
    assert preview.get(link).status_code == 200
    assert preview.head(link).status_code == 200
    assert not User.objects.exists()

    assert confirm(link) == 302


def test_a_link_works_once(link: str) -> None:
    """A second use, by link or by a page still open, gets the answer of a link that never was."""
    late = Client()
    late.get(link)

    assert confirm(link) == 302

    assert confirm(link) == late.post(link).status_code == 410
    assert confirm("/signin/never-made/") == 410


def test_of_many_users_of_one_link_one_gets_in(link: str) -> None:
    """Using up a link is atomic."""

    def use(_: int) -> int:
        try:
            return confirm(link)
        finally:
            connections.close_all()

    User.objects.create_superuser(signin.OPERATOR)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(use, range(4)))

    assert sorted(answers) == [302, 410, 410, 410]


def test_a_link_of_an_earlier_run_is_worthless(link: str) -> None:
    """The end of the system ends its links, and no file stays."""
    signin.forget_all(settings.STATE_DIR)

    assert confirm(link) == 410
    assert not (settings.STATE_DIR / "signin").exists()


def test_an_old_link_is_worthless(link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link is valid for a quarter of an hour."""
    monkeypatch.setattr(signin, "VALID_SECONDS", -1)

    assert confirm(link) == 410


def test_a_link_signed_with_another_key_is_refused(link: str) -> None:
    """Knowing the form of a link is not enough to make one."""
    nonce = signing.TimestampSigner(salt="durable_site.embedded.signin").unsign(link.split("/")[2])
    forged = signing.TimestampSigner(key="another", salt="durable_site.embedded.signin").sign(nonce)

    assert confirm(f"/signin/{forged}/") == 410


def test_an_account_that_lost_its_rights_gets_none_back(link: str) -> None:
    """The link makes the operator's account but never raises an existing one."""
    User.objects.create_user(signin.OPERATOR)

    assert confirm(link) == 403
    assert not User.objects.get().is_superuser


def test_links_are_private_files(link: str) -> None:
    """Neither the folder nor the file names give a link away."""
    (spare,) = (settings.STATE_DIR / "signin").iterdir()

    assert spare.name not in link
    assert Path(spare.parent).stat().st_mode & 0o077 == 0
    assert spare.stat().st_size == 0
