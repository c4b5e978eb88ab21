"""Keys and cursors: identity only, rebuildable, and nothing unsafe in a name (R007, R009, S23)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.contract.errors import CursorExpired, Invalid
from sessions_app.contract.identity import SessionKey, ThreadKey, checked_request_id
from sessions_app.contract.paging import Cursor, checked_limit


@pytest.mark.parametrize("name", ["", "-x", "a b", "a/b", "a\nb", "ä", "x" * 129, "a\x00"])
def test_an_unsafe_name_is_invalid(name: str) -> None:
    """Names have a safe alphabet and a bound, so that they can stand in frames and paths."""
    with pytest.raises(Invalid):
        SessionKey("acme", name)
    with pytest.raises(Invalid):
        ThreadKey(SessionKey("acme", "chat"), name)


def test_keys_read_as_operators_say_them() -> None:
    """A key is rebuilt from its names and is equal to the first one."""
    key = SessionKey("acme", "chat").thread("side")
    assert str(key) == "acme/chat/side"
    assert key == ThreadKey(SessionKey("acme", "chat"), "side")


@pytest.mark.parametrize("value", ["", "a b", "x" * 201, None, 4])
def test_a_bad_request_id_is_invalid(value: object) -> None:
    """Request ids are 1 to 200 safe characters."""
    with pytest.raises(Invalid):
        checked_request_id(value)


@given(st.integers(0, 2**53), st.text(min_size=1, max_size=40))
def test_a_cursor_survives_its_text_form(sequence: int, incarnation: str) -> None:
    """Decoding what was encoded gives the same position."""
    cursor = Cursor("ses_1", sequence, incarnation)
    assert Cursor.decode(cursor.encode()) == cursor


@given(st.text(max_size=60))
def test_no_text_crashes_the_cursor_parser(text: str) -> None:
    """Whatever is sent as a cursor is a position or Invalid."""
    try:
        Cursor.decode(text)
    except Invalid:
        return


@pytest.mark.parametrize(
    ("cursor", "error"),
    [
        (Cursor("ses_1", 5, "inc_1"), None),
        (Cursor("ses_1", 10, "inc_1"), None),
        (Cursor("ses_1", 4, "inc_1"), CursorExpired),
        (Cursor("ses_1", 11, "inc_1"), CursorExpired),
        (Cursor("ses_1", 7, "inc_0"), CursorExpired),
        (Cursor("ses_2", 7, "inc_1"), Invalid),
    ],
)
def test_a_cursor_is_followed_or_expired(cursor: Cursor, error: type[Exception] | None) -> None:
    """Below the floor, ahead of the head or of another incarnation: expired.

    Of another Session: invalid (I24).
    """
    if error is None:
        cursor.check("ses_1", "inc_1", 10, 5)
        return
    with pytest.raises(error):
        cursor.check("ses_1", "inc_1", 10, 5)


@pytest.mark.parametrize("limit", [0, -1, 1001, "10", 2.5, None])
def test_a_page_is_bounded(limit: object) -> None:
    """Limits are whole numbers from 1 to 1000; anything else is refused, not tried."""
    with pytest.raises(Invalid, match="limit"):
        checked_limit(limit)
