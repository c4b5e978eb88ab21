"""Verbs of `manage.py durable`, in the order in which help lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from sessions_app.management.verbs import (
    answers,
    check,
    close,
    controls,
    doctor,
    drain,
    events,
    explain,
    interactions,
    output,
    prune,
    purge,
    reconcile,
    repair_transcript,
    repin,
    rules,
    scan,
    snapshot,
    status,
    submit,
    token,
    versions,
    watch,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sessions_app.management.output import Output


class Verb(Protocol):
    """What each module of this folder has; its docstring is its help."""

    __doc__: str | None
    CHECKED: bool
    """Whether Django's system checks have to pass first."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare arguments."""

    def run(self, options: dict[str, Any], out: Output) -> int:
        """Do it, print, give the exit code."""


VERBS: Final[dict[str, Verb]] = {
    "submit": submit,
    "watch": watch,
    "steer": controls.steer,
    "inject": controls.inject,
    "withdraw": controls.withdraw,
    "pause": controls.pause,
    "resume": controls.resume,
    "cancel": controls.cancel,
    "release": controls.release,
    "reconcile": reconcile,
    "respond": answers.respond,
    "set-aside": answers.set_aside,
    "signal": answers.signal,
    "interactions": interactions,
    "rules": rules,
    "status": status,
    "explain": explain,
    "events": events,
    "output": output,
    "snapshot": snapshot,
    "token": token,
    "versions": versions,
    "repin": repin,
    "scan": scan,
    "drain": drain,
    "prune": prune,
    "close": close,
    "purge": purge,
    "check": check,
    "repair-transcript": repair_transcript,
    "doctor": doctor,
}
