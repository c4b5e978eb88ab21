"""A signed-in operator, and a database with rows of every kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.store import bell
from tests.integration.invariants import world as worlds
from tests.web.rows import fill

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django import Settings

POLICY = "sessions_app.admin.policy.content_security_policy"


@pytest.fixture
def site(database: None, settings: Settings) -> Iterator[None]:
    """Give a clean database and no broker."""
    settings.DURABLE = {**settings.DURABLE, "WAKEUPS": f"{worlds.__name__}.silence"}
    settings.MIDDLEWARE = [*(m for m in settings.MIDDLEWARE if m != POLICY), POLICY]
    bell.wakeups.cache_clear()
    yield
    bell.wakeups.cache_clear()


@pytest.fixture
def operator(site: None) -> Client:
    """Give the browser of a signed-in superuser."""
    client = Client(raise_request_exception=True)
    client.force_login(User.objects.create_superuser("ann"))
    return client


@pytest.fixture
def filled(site: None) -> worlds.World:
    """Give a world in which every model has rows."""
    return fill()
