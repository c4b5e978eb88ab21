"""Frames of the event stream (`text/event-stream`): written by one side, read by the other.

`durable` carries an event and, as its id, the cursor behind it; `cursor` moves a filtered reader
over what it does not see; `live` is a preview and has no id, so that it can move nothing; `resync`
ends a stream whose cursor expired (R125).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from sessions_app.contract.errors import Invalid, OutcomeUnknown

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue

KEEP_ALIVE: Final = b": keep-alive\n\n"
MEDIA_TYPE: Final = "text/event-stream"
LARGEST: Final = 16 * 1024 * 1024
_SAFE_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,512}")
_LINE_END: Final = re.compile(rb"\r\n|\n|\r")


class FrameKind(StrEnum):
    """What a frame is for."""

    DURABLE = "durable"
    LIVE = "live"
    CURSOR = "cursor"
    RESYNC = "resync"


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame; `id` is the cursor that a reader may begin behind."""

    kind: FrameKind
    data: JsonValue
    id: str | None = None


def render(frame: Frame) -> bytes:
    """Return a frame's text: one JSON line, so that nothing in it can end the frame (T13).

    Raises Invalid for an id that is no cursor.
    """
    lines = [f"event: {frame.kind.value}"]
    if frame.id is not None:
        if not _SAFE_ID.fullmatch(frame.id):
            msg = "the id of a frame is a cursor"
            raise Invalid(msg)
        lines.append(f"id: {frame.id}")
    lines.append(f"data: {json.dumps(frame.data, ensure_ascii=False, separators=(',', ':'))}")
    return ("\n".join(lines) + "\n\n").encode()


class FrameReader:
    """Reads frames from bytes as they come; what is not whole yet is not there (C61)."""

    def __init__(self) -> None:
        """Begin before the first byte."""
        self._rest = b""
        self._lines: list[str] = []

    def feed(self, more: bytes) -> list[Frame]:
        """Return the frames that these bytes complete.

        Raises OutcomeUnknown for what is no stream of ours; the reader is of no use then.
        """
        self._rest += more
        if len(self._rest) > LARGEST:
            msg = "a frame is larger than any of ours"
            raise OutcomeUnknown(msg)
        found = []
        while (end := _LINE_END.search(self._rest)) is not None:
            if end.group() == b"\r" and end.end() == len(self._rest):
                break  # the half of a pair, perhaps
            line, self._rest = self._rest[: end.start()], self._rest[end.end() :]
            if line:
                self._lines.append(line.decode("utf-8", errors="replace"))
            elif frame := self._whole():
                found.append(frame)
        return found

    def _whole(self) -> Frame | None:
        """The frame of the lines so far; comments alone are none."""
        lines, self._lines = self._lines, []
        parts: dict[str, list[str]] = {}
        for line in lines:
            name, _, value = line.partition(":")
            if name:
                parts.setdefault(name, []).append(value.removeprefix(" "))
        if "data" not in parts:
            return None
        try:
            kind = FrameKind(parts.get("event", [""])[-1])
            data = json.loads("\n".join(parts["data"]))
        except ValueError:
            msg = "the stream has a frame that is none of ours"
            raise OutcomeUnknown(msg) from None
        return Frame(kind, data, parts.get("id", [None])[-1])
