"""What may come between an event and its reader: gaps, compression, proxies (C7, C60)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from asgiref.sync import sync_to_async
from django.middleware.gzip import GZipMiddleware
from django.test import RequestFactory

from sessions_app.api import stream
from sessions_app.contract.frames import Frame, FrameKind, FrameReader
from tests.covers import poses
from tests.web.api.conftest import Program, said, session_of, turn_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse


def _asked(program: Program, **headers: str) -> HttpRequest:
    given = {"Authorization": f"Bearer {program.secret}", **headers}
    return RequestFactory(headers=given).get("/")


async def _frames(answer: HttpResponseBase, count: int) -> list[Frame]:
    reader = FrameReader()
    found: list[Frame] = []
    body = aiter(cast("StreamingHttpResponse", answer))
    while len(found) < count:
        found += reader.feed(await asyncio.wait_for(anext(body), 10))
    await cast("AsyncGenerator[bytes]", body).aclose()
    return found


@poses("C7")
async def test_an_event_between_the_first_page_and_the_first_look_is_seen(author: Program) -> None:
    """C7: the request has read what there was, nobody follows yet, and then something is stored."""
    session = await sync_to_async(session_of)(author)
    answer = await sync_to_async(stream.stream)(_asked(author), "acme", "chat")
    before = said(await sync_to_async(author.get)(session))["lastSequence"]
    await sync_to_async(turn_of)(author, session)
    after = said(await sync_to_async(author.get)(session))["lastSequence"]

    found = await _frames(answer, after)
    answer.close()

    sequences = [frame.data["sequence"] for frame in found if isinstance(frame.data, dict)]
    assert before < after
    assert sequences == list(range(1, after + 1))


@poses("C60")
async def test_nothing_on_the_way_gathers_or_packs_a_stream(author: Program) -> None:
    """C60: a site that compresses its pages leaves a stream as it is, and says so to proxies."""
    await sync_to_async(session_of)(author)
    packing = GZipMiddleware(lambda request: stream.stream(request, "acme", "chat"))
    asked = _asked(author, **{"Accept-Encoding": "gzip"})
    answer = cast("HttpResponseBase", await sync_to_async(packing)(asked))

    (first, *_) = await _frames(answer, 1)
    answer.close()

    assert first.kind is FrameKind.DURABLE
    assert answer.headers["Content-Encoding"] == "identity"
    assert "no-transform" in answer.headers["Cache-Control"]
    assert answer.headers["X-Accel-Buffering"] == "no"
    assert "Connection" not in answer.headers
