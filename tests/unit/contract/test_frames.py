"""Frames: what one side writes the other reads, however the bytes are cut."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.contract.errors import Invalid, OutcomeUnknown
from sessions_app.contract.frames import KEEP_ALIVE, LARGEST, Frame, FrameKind, FrameReader, render
from tests.covers import covers, poses

ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FRAMES = st.builds(
    Frame,
    st.sampled_from(FrameKind),
    ANY,
    st.none() | st.from_regex(r"\A[A-Za-z0-9_-]{1,30}\Z"),
)


@covers("R125")
@poses("T13", "C61")
@given(st.lists(FRAMES, max_size=5), st.lists(st.integers(0, 400), max_size=6))
def test_frames_come_as_they_were_however_they_are_cut(
    frames: list[Frame], cuts: list[int]
) -> None:
    """R125, T13: no text in a frame ends it; keep-alives between them are nothing."""
    text = KEEP_ALIVE.join([b"", *(render(each) for each in frames), b""])
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    reader = FrameReader()

    read = [
        each for begin, end in itertools.pairwise(places) for each in reader.feed(text[begin:end])
    ]

    assert read == frames


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_every_line_end_of_the_format_is_one(end: str) -> None:
    """A proxy may write the lines anew."""
    text = 'event: cursor\nid: abc\ndata: {"a":\ndata: 1}\n\n: x\n\n'.replace("\n", end)
    reader = FrameReader()

    read = [each for byte in text.encode() for each in reader.feed(bytes([byte]))]

    assert read == [Frame(FrameKind.CURSOR, {"a": 1}, "abc")]


@pytest.mark.parametrize("name", ["a\nb", "", "a b", "é", "x" * 513])
def test_an_id_that_is_no_cursor_is_not_written(name: str) -> None:
    """Ids are of a safe alphabet."""
    with pytest.raises(Invalid):
        render(Frame(FrameKind.DURABLE, 1, name))


@pytest.mark.parametrize(
    "text", ["data: {\n\n", "event: other\ndata: 1\n\n", "event: live\ndata: no\n\n"]
)
def test_what_is_no_stream_of_ours_is_uncertain(text: str) -> None:
    """Nothing of it is taken for an event."""
    with pytest.raises(OutcomeUnknown):
        FrameReader().feed(text.encode())


def test_a_frame_without_an_end_does_not_grow_for_ever() -> None:
    """A stream that never ends a line is given up."""
    reader = FrameReader()
    reader.feed(b"x" * LARGEST)

    with pytest.raises(OutcomeUnknown):
        reader.feed(b"x")


def test_data_is_one_line_of_json() -> None:
    """Line breaks of the text are escaped."""
    text = render(Frame(FrameKind.DURABLE, {"text": "a\r\nb\u2028c"}, "id"))

    assert text.count(b"\n") == 4
    assert json.loads(text.decode().split("data: ")[1]) == {"text": "a\r\nb\u2028c"}
