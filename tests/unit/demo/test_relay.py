"""The relay before a real provider; here the scripted one plays the real one."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from durable_site.demo.journal import End
from durable_site.demo.provider import ScriptedProvider
from durable_site.demo.relay import Relay

ASKED: Any = {"model": "scripted", "messages": [{"role": "user", "content": "Hello"}]}


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    """The provider at the far end."""
    with ScriptedProvider() as server:
        yield server


def client(relay: Relay) -> openai.OpenAI:
    """The real client, told not to retry by itself."""
    return openai.OpenAI(base_url=f"{relay.address}/v1", api_key="any", max_retries=0)


def test_the_relay_changes_nothing_and_counts(provider: ScriptedProvider) -> None:
    """Whole answers, streams and errors arrive as the provider sent them."""
    with Relay(provider.address) as relay, client(relay) as library:
        whole = library.chat.completions.create(**ASKED).choices[0].message.content
        stream = library.chat.completions.create(**ASKED, stream=True)
        pieces = [c.choices[0].delta.content or "" for c in stream]
        with pytest.raises(openai.BadRequestError, match="messages"):
            library.chat.completions.create(model="scripted", messages=[])
        relay.journal.wait_for_end(3, timeout=10)

    assert "".join(pieces) == whole
    ends = [record.end for record in relay.journal.records()]
    assert ends == [End.ANSWERED, End.ANSWERED, End.REFUSED]


def test_a_held_request_is_lost_with_its_caller(provider: ScriptedProvider) -> None:
    """The caller goes away after the first piece: lost here, whatever the provider thinks."""
    with Relay(provider.address, hold=1) as relay, client(relay) as library:
        stream = library.chat.completions.create(**ASKED, stream=True)
        assert relay.held.wait(10)

        stream.close()

        assert relay.journal.wait_for_end(1, timeout=10)
    assert relay.journal.records()[0].end is End.LOST


def test_an_unreachable_provider_is_an_error_of_the_provider() -> None:
    """The library hears of a bad gateway, not of a broken connection."""
    with ScriptedProvider() as gone:
        address = gone.address
    with (
        Relay(address) as relay,
        client(relay) as library,
        pytest.raises(openai.InternalServerError),
    ):
        library.chat.completions.create(**ASKED)
