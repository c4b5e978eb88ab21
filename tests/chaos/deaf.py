"""A Brain that takes no message: whatever is sent stays in the broker. Runs until it is ended."""

from __future__ import annotations

import threading

import django

django.setup()

from sessions_app import tasks  # noqa: E402 - Django comes first

tasks.make_brain()
threading.Event().wait()
