"""`durable output`: bytes as they are, gaps beside them, JSON for programs."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pytest
from django.conf import settings
from django.core.management import call_command

from hands_app.contract.output import Gap
from hands_app.machine.output import Written
from sessions_app.runtime import output
from tests.covers import covers
from tests.integration.tooling.house import Courier, House, intent
from tests.integration.tooling.pool import HOUSE, talk

if TYPE_CHECKING:
    from sessions_app.models import ToolCall

BODY = b"line one\n\xff\x00 binary\n"


@pytest.fixture
def written(house: House, monkeypatch: pytest.MonkeyPatch) -> ToolCall:
    """Give a call whose tool wrote some bytes and then too many."""
    monkeypatch.setitem(settings.DURABLE, "NAMESPACE", HOUSE)
    monkeypatch.setattr(output, "delivery", lambda: Courier(house))
    (call,) = house.asks(intent(talk, {"text": "any"}))
    house.carry_commands()
    claim = house.pool.start()
    house.pool.work.output(claim, Written(0, BODY, gap=Gap.LIMIT, lost=1000))
    return call


@covers("R190")
def test_bytes_go_out_as_they_are_and_gaps_beside_them(
    written: ToolCall, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """What is piped into a file is what the tool wrote, and nothing else."""
    call_command("durable", "output", written.turn_id, written.pk)

    out, err = capfdbinary.readouterr()
    assert out == BODY
    assert err.decode().splitlines() == [f"1000 bytes are missing from {len(BODY)} on: limit"]


@covers("R190")
def test_programs_get_a_line_for_each_page(
    written: ToolCall, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Bytes in base 64, from any offset on; the last page says whether more may come."""
    call_command("durable", "output", written.turn_id, written.pk, "--offset", "5", "--json")

    pages = [json.loads(line) for line in capfdbinary.readouterr().out.decode().splitlines()]
    assert [base64.b64decode(page["data"]) for page in pages] == [BODY[5:], b"", b""]
    assert [page["gap"] for page in pages] == [None, "limit", None]
    assert pages[-1]["next"] == pages[-1]["offset"] == len(BODY) + 1000
    assert not pages[-1]["sealed"]
