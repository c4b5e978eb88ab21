"""Where the demo's answers come from."""

from pathlib import Path

import pytest

from durable_site.demo.provider import ScriptedProvider
from durable_site.demo.relay import Relay
from durable_site.demo.source import NoModelError, open_source

KEYS = {"OPENAI_API_KEY": "one", "ANTHROPIC_API_KEY": "two"}


def test_without_a_model_it_is_the_script_whatever_keys_are_set(tmp_path: Path) -> None:
    """Nobody pays for a demo by accident."""
    server, env = open_source("", tmp_path / "requests", 2, KEYS)

    with server:
        assert isinstance(server, ScriptedProvider)
    assert env == {"DURABLE_DEMO_PROVIDER": server.base_url, "DURABLE_DEMO_MODEL": ""}


@pytest.mark.parametrize(
    ("model", "given", "upstream", "variable", "path"),
    [
        ("openai:gpt", {}, "https://api.openai.com", "OPENAI_BASE_URL", "/v1"),
        ("openai-chat:gpt", {}, "https://api.openai.com", "OPENAI_BASE_URL", "/v1"),
        ("anthropic:claude", {}, "https://api.anthropic.com", "ANTHROPIC_BASE_URL", ""),
        (
            "openai:gpt",
            {"OPENAI_BASE_URL": "http://gateway:8080/models/v1"},
            "http://gateway:8080",
            "OPENAI_BASE_URL",
            "/models/v1",
        ),
    ],
)
def test_a_named_model_is_reached_through_the_relay(
    tmp_path: Path, model: str, given: dict[str, str], upstream: str, variable: str, path: str
) -> None:
    """The library is told the relay's address by its own variable; the user's gateway stays."""
    server, env = open_source(model, tmp_path / "requests", 2, {**KEYS, **given})

    with server:
        assert isinstance(server, Relay)
        assert server.upstream == upstream
    assert env == {"DURABLE_DEMO_MODEL": model, variable: server.address + path}


@pytest.mark.parametrize(
    ("model", "words"),
    [("openai:gpt", "OPENAI_API_KEY"), ("mistral:large", "no model"), ("openai", "no model")],
)
def test_a_model_that_cannot_be_used_is_named(tmp_path: Path, model: str, words: str) -> None:
    """The reason says what to change."""
    with pytest.raises(NoModelError, match=words):
        open_source(model, tmp_path / "requests", 2, {})
