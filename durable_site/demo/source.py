"""Where the demo's answers come from: the script, or a real provider behind the relay."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from durable_site.demo.endpoint import ModelServer
from durable_site.demo.provider import ScriptedProvider
from durable_site.demo.relay import Relay

MODEL_VARIABLE = "DURABLE_DEMO_MODEL"
PROVIDER_VARIABLE = "DURABLE_DEMO_PROVIDER"


class NoModelError(RuntimeError):
    """The model that was asked for cannot be used here."""


@dataclass(frozen=True)
class _Vendor:
    key: str
    base: str
    address: str


_VENDORS = {
    "openai": _Vendor("OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1"),
    "anthropic": _Vendor("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
}


def open_source(
    model: str, journal: Path, hold: int, env: Mapping[str, str] = os.environ
) -> tuple[ModelServer, dict[str, str]]:
    """Return the server that holds request `hold`, and the variables that lead a Brain to it.

    Without a `model` it is the scripted provider, whatever keys are set. Raises NoModelError.
    """
    if not model:
        provider = ScriptedProvider(journal, hold=hold)
        return provider, {PROVIDER_VARIABLE: provider.base_url, MODEL_VARIABLE: ""}
    vendor = _vendor(model)
    if not env.get(vendor.key):
        message = f"the model {model} needs its key in {vendor.key}"
        raise NoModelError(message)
    upstream = urlsplit(env.get(vendor.base) or vendor.address)
    relay = Relay(urlunsplit((upstream.scheme, upstream.netloc, "", "", "")), journal, hold=hold)
    return relay, {MODEL_VARIABLE: model, vendor.base: relay.address + upstream.path}


def _vendor(model: str) -> _Vendor:
    """Return who makes the model; `openai-chat:` and `openai-responses:` are OpenAI's too."""
    kind, _, name = model.partition(":")
    vendor = _VENDORS.get(kind.partition("-")[0])
    if vendor is None or not name:
        message = f"{model!r} is no model for the demo: give openai:<model> or anthropic:<model>"
        raise NoModelError(message)
    return vendor
