"""A Brain process of a second's patience, for tests of a frozen loop: it runs until it is ended."""

from __future__ import annotations

import dataclasses
import threading

import django

django.setup()

from sessions_app import tasks  # noqa: E402 - Django comes first

_given = tasks.figures()
tasks.figures = lambda: dataclasses.replace(_given, frozen=1.0)
tasks.make_brain()
threading.Event().wait()
