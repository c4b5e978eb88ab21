"""One look for all streams: what it wakes, and that no fault ends it (R107)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.errors import Unavailable
from sessions_app.contract.identity import SessionKey
from sessions_app.streaming.following import Following

if TYPE_CHECKING:
    from collections.abc import Mapping

KEY = SessionKey("acme", "chat")


@pytest.mark.parametrize("fault", [Unavailable, RuntimeError], ids=["away", "broken"])
async def test_a_look_that_fails_is_followed_by_one_that_works(fault: type[Exception]) -> None:
    """Neither an outage nor a fault of ours leaves the streams asleep."""
    looks = 0

    async def grown(seen: Mapping[SessionKey, int]) -> dict[SessionKey, int | None]:
        nonlocal looks
        looks += 1
        if looks == 1:
            raise fault
        assert seen == {KEY: 0}
        return {KEY: 1}

    following = Following(grown)
    with following.follow(KEY) as follower:
        assert await follower.wait(5)
    assert looks == 2
