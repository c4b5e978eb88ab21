"""Web processes and Brains live and end apart (R115, R130)."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import httpx2 as httpx
import pytest

from sessions_app.contract.grants import Role, TokenDraft
from sessions_app.contract.status import TurnStatus
from sessions_app.models import Host
from sessions_app.store import tokens
from tests.covers import covers
from tests.web.api.serving import serve

if TYPE_CHECKING:
    from tests.integration.brain.farm import Farm

pytestmark = pytest.mark.timeout(120)
STREAM = "/api/v1/namespaces/acme/sessions/chat/events/stream"


@covers("R130")
def test_stopping_a_web_process_ends_its_streams_and_no_brain(farm: Farm) -> None:
    """R130: told to end, it ends with a reader still there; the Turn that it showed goes on."""
    farm.hold()
    farm.worker()
    turn_id = farm.submit("hold say")
    farm.hears("model:2")
    address = serve(farm.site)
    web = farm.site.processes[-1]
    secret = _secret(Role.VIEWER)
    headers = {"Authorization": f"Bearer {secret}"}

    with httpx.stream("GET", f"{address}{STREAM}", headers=headers, timeout=20) as answer:
        next(answer.iter_raw())
        web.send_signal(signal.SIGTERM)
        web.wait(15)

    farm.let_go()
    turn = farm.ended(turn_id)
    assert (turn.status, turn.takeovers) == (TurnStatus.COMPLETED, 0)


@covers("R115")
def test_a_web_process_runs_nothing(farm: Farm) -> None:
    """R115: it takes a Turn, joins as no host, and leaves the Turn to Brains."""
    address = serve(farm.site)
    secret = _secret(Role.AUTHOR)
    headers = {"Authorization": f"Bearer {secret}"}
    farm.store.session("chat")
    place = f"{address}/api/v1/namespaces/acme/sessions/chat/threads/main/turns"
    body = {"requestId": "r-1", "input": "say"}

    before = set(Host.objects.values_list("pk", flat=True))
    taken = httpx.post(place, json=body, headers=headers, timeout=20).json()

    assert set(Host.objects.values_list("pk", flat=True)) == before
    farm.worker()
    assert farm.ended(taken["turnId"]).status == TurnStatus.COMPLETED


def _secret(role: Role) -> str:
    return tokens.create(TokenDraft("tests", frozenset({role}), "tests")).secret
