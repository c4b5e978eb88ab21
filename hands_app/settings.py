"""Reads the environment of a Hands process; ARCHITECTURE.md lists names and defaults."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hands_app.contract import queues
from hands_app.contract.errors import Incompatible
from hands_app.machine.output import MAX_OUTPUT_BYTES
from hands_app.objects.opening import place
from hands_app.worker.configuration import Configuration

if TYPE_CHECKING:
    from collections.abc import Mapping

_ROOT = Path(__file__).resolve().parent.parent


def read_environment(environment: Mapping[str, str] = os.environ) -> Configuration:
    """Return what the environment says; raise Incompatible for a value that means nothing."""
    given = {name: value.strip() for name, value in environment.items() if value.strip()}
    state_dir = Path(given.get("DURABLE_STATE_DIR", _ROOT / "var")).absolute()
    return Configuration(
        state_dir=state_dir,
        ledger_url=given.get("HANDS_DATABASE_URL", f"sqlite:///{state_dir}/hands.sqlite3"),
        objects_dir=place(given.get("DURABLE_OBJECTS_DIR", ""), state_dir),
        redis_url=given.get("REDIS_URL", ""),
        rabbitmq_url=given.get("RABBITMQ_URL", ""),
        namespace=queues.namespace_name(given.get("DURABLE_NAMESPACE", queues.DEFAULT_NAMESPACE)),
        tools=given.get("DURABLE_HANDS_TOOLS", _default_tools(given)),
        slots=_count(given, "DURABLE_HANDS_SLOTS", 4),
        lease_seconds=_seconds(given, "DURABLE_LEASE_SECONDS", 30.0),
        renew_seconds=_seconds(given, "DURABLE_RENEW_SECONDS", 10.0),
        poll_seconds=_seconds(given, "DURABLE_HANDS_POLL_SECONDS", 0.1),
        grace_seconds=_seconds(given, "DURABLE_DRAIN_SECONDS", 20.0),
        details_seconds=_seconds(given, "DURABLE_HANDS_DETAILS_SECONDS", 12 * 3600.0),
        memory_bytes=_count(given, "DURABLE_HANDS_MEMORY_BYTES", 0, least=0),
        open_files=_count(given, "DURABLE_HANDS_OPEN_FILES", 0, least=0),
        output_bytes=_count(given, "DURABLE_HANDS_OUTPUT_BYTES", MAX_OUTPUT_BYTES, least=0),
    )


def _default_tools(given: Mapping[str, str]) -> str:
    match given.get("DURABLE_MODE", "embedded"):
        case "embedded":  # the demo's, unless Hands stand alone
            return "durable_site.demo.tools" if find_spec("durable_site") else ""
        case "production":
            return ""
        case mode:
            message = f"DURABLE_MODE is {mode!r}; it can be 'embedded' or 'production'"
            raise Incompatible(message)


def _seconds(given: Mapping[str, str], name: str, default: float) -> float:
    try:
        value = float(given.get(name, default))
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        message = f"{name} is {given[name]!r}; give a positive number of seconds"
        raise Incompatible(message)
    return value


def _count(given: Mapping[str, str], name: str, default: int, *, least: int = 1) -> int:
    text = given.get(name, str(default))
    if not text.isascii() or not text.isdecimal() or int(text) < least:
        message = f"{name} is {text!r}; give a whole number of at least {least}"
        raise Incompatible(message)
    return int(text)
