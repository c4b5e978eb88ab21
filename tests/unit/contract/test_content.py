"""What a user may send (R036, R037, C13 to C17)."""

from __future__ import annotations

import base64
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ImageUrl, ModelRequest, UserPromptPart

from sessions_app.contract.content import MAX_INPUT_BYTES, VISIBLE, UserInput, user_input
from sessions_app.contract.errors import Invalid
from tests.covers import covers, poses

PICTURE = base64.b64encode(b"picture").decode()


def test_a_string_is_one_text_part() -> None:
    """The short form and the long form are the same content with the same digest (I17)."""
    short = user_input("hello")
    long = user_input({"version": "1", "parts": [{"type": "text", "text": "hello"}]})

    assert short == long
    assert short.digest == long.digest
    assert short.text == "hello"


@pytest.mark.parametrize("kind", ["image", "audio", "video"])
def test_media_come_by_url_or_as_base64(kind: str) -> None:
    """Both sources are taken, with a mime type that fits."""
    for source in ({"url": "https://example.org/a"}, {"data": PICTURE}):
        part = {"type": kind, "mimeType": f"{kind}/x-test", **source}
        assert user_input({"version": "1", "parts": [part]}).wire()["parts"] == [part]


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        object(),
        [],
        {"version": "2", "parts": [{"type": "text", "text": "x"}]},
        {"version": "1", "parts": []},
        {"version": "1", "parts": [{"type": "text"}]},
        {"version": "1", "parts": [{"type": "text", "text": "x", "more": 1}]},
        {"version": "1", "parts": [{"type": "image", "mimeType": "image/png"}]},
        {"version": "1", "parts": [{"type": "image", "mimeType": "audio/wav", "data": PICTURE}]},
        {"version": "1", "parts": [{"type": "image", "mimeType": "image/png", "data": "%%"}]},
        {
            "version": "1",
            "parts": [{"type": "image", "mimeType": "image/png", "url": "file:///etc"}],
        },
        {"version": "1", "parts": [{"type": "code", "text": "x"}]},
        "",
        " \n\t",
        {"version": "1", "parts": [{"type": "text", "text": "x"}, {"type": "text", "text": ""}]},
        "a\x00b",
        "\ud83c",
        "x" * (MAX_INPUT_BYTES + 1),
    ],
    ids=range(19),
)
def test_anything_else_is_invalid(value: object) -> None:
    """Framework objects, wrong versions, unknown members, NUL.

    Half surrogates and floods are refused.
    """
    with pytest.raises(Invalid):
        user_input(value)


@covers("R037")
@pytest.mark.parametrize(
    "value",
    [
        ModelRequest.user_text_prompt("hello"),
        UserPromptPart("hello"),
        ImageUrl("https://example.org/a.png"),
        {"version": "1", "parts": [UserPromptPart("hello")]},
    ],
    ids=["message", "part", "image", "part-in-a-record"],
)
def test_an_object_of_a_framework_is_no_input(value: object) -> None:
    """Input outlives the framework that it was written with, so it is a string or a record."""
    with pytest.raises(Invalid):
        user_input(value)


@poses("C14")
def test_a_whole_surrogate_pair_is_one_character() -> None:
    """A legal pair is kept as the character that it is (C14)."""
    assert user_input("\U0001f378").text == "\U0001f378"


@given(
    st.text(
        alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x00"),
        min_size=1,
        max_size=50,
    ).filter(re.compile(VISIBLE).search)
)
def test_content_survives_the_wire(text: str) -> None:
    """Content read back from its wire form is equal and has the same digest."""
    content = user_input(text)
    assert UserInput.model_validate(content.wire()).digest == content.digest


@pytest.mark.parametrize("text", ["\u200b\u200b", "\u3000", "\x01\x7f", "\ufeff", "\u2028"])
def test_a_text_of_what_nobody_sees_is_no_input(text: str) -> None:
    """Spaces of every width and controls alone say nothing."""
    with pytest.raises(Invalid, match="visible"):
        user_input(text)
