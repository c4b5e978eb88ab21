"""Submits Turns from a process of its own, with real hints: `outside.py <text> <session>...`.

Prints how many seconds the submits took.
"""

from __future__ import annotations

import sys
import time

import django

django.setup()

from sessions_app.contract.content import user_input  # noqa: E402 - Django comes first
from sessions_app.contract.identity import DefinitionKey, SessionKey  # noqa: E402 - the same
from sessions_app.store import admission  # noqa: E402 - the same


def main(text: str, *names: str) -> None:
    """Create each Session and submit one Turn to it."""
    keys = [SessionKey("acme", name) for name in names]
    for key in keys:
        admission.create_session(key, DefinitionKey("agent", "1"))
    began = time.monotonic()
    for key in keys:
        admission.submit(key.thread(), "r1", user_input(text), {})
    sys.stdout.write(f"{time.monotonic() - began:.3f}\n")


main(*sys.argv[1:])
