"""Reference pages that are made from code: `python -m tests.docs.pages` writes them anew."""

from __future__ import annotations

import inspect
import json
import os
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def turn_states() -> str:
    """The page of legal moves, from the machine's table."""
    from sessions_app.machine.table import as_markdown  # noqa: PLC0415 - needs Django set up

    head = "# Turn states\n\nEvery move that is possible; each raises the revision by one.\n\n"
    return head + as_markdown() + "\n"


def events() -> str:
    """The page of events, from the catalogue of payloads."""
    from sessions_app.contract.catalogue import as_markdown  # noqa: PLC0415 - as above

    return as_markdown()


def controls() -> str:
    """The page of controls, from the machine's second table."""
    from sessions_app.machine.control_table import as_markdown  # noqa: PLC0415 - as above

    head = (
        "# Controls\n\nWhat each control does to a Turn of each status. How to use them:"
        " [Control a Turn](../howto/control-a-turn.md).\n\n"
    )
    return head + as_markdown() + "\n"


def python_api() -> str:
    """The page of the Python API, from the handles themselves."""
    from sessions_app import runtime  # noqa: PLC0415 - as above

    head = (
        "# Python API\n\nFour handles, made of ids alone, from `sessions_app.runtime`. Each method"
        " that waits for the database\nhas an awaitable twin with an `a` before its name. Errors"
        " are typed (`sessions_app/contract/errors.py`);\nwhat raises wrote nothing. The docstrings"
        " say more.\n"
    )
    handles = (
        runtime.DurableRuntime,
        runtime.SessionHandle,
        runtime.ThreadHandle,
        runtime.TurnHandle,
    )
    return head + "".join(_handle(kind) for kind in handles)


def _handle(kind: type) -> str:
    lines = [f"\n## {kind.__name__}\n\n{_sentence(kind)}\n\n| Method | What it does |\n| - | - |"]
    for name, member in vars(kind).items():
        call = inspect.unwrap(member) if callable(member) else None
        if name.startswith("_") or call is None or inspect.iscoroutinefunction(member):
            continue
        parameters = list(inspect.signature(call).parameters.values())[1:]
        given = ", ".join(_given(one) for one in parameters)
        lines.append(f"| `{name}({given})` | {_sentence(call)} |")
    return "\n".join(lines) + "\n"


def _given(parameter: inspect.Parameter) -> str:
    """The name alone; what may be left out is in brackets, what must be named says so."""
    if parameter.kind is parameter.VAR_KEYWORD:
        return f"**{parameter.name}"
    named = "=" if parameter.kind is parameter.KEYWORD_ONLY else ""
    name = f"{parameter.name}{named}"
    return name if parameter.default is parameter.empty else f"[{name}]"


def _sentence(thing: object) -> str:
    """The first sentence of a docstring, without the requirements that it names."""
    text = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    first = re.split(r"(?<=[.])\s", text)[0]
    return re.sub(r"\s\((?:[RCISTL]\d+[, ]*)+\)", "", first).replace("|", "\\|")


def verbs() -> str:
    """The page of the shell's verbs, from their modules."""
    from sessions_app.management import exits  # noqa: PLC0415 - as above
    from sessions_app.management.verbs import VERBS  # noqa: PLC0415 - as above

    head = (
        "# Shell\n\n`manage.py durable <verb>`; `--help` behind a verb lists its arguments,"
        " `--json` prints for\nprograms.\n\n| Verb | What it does |\n| - | - |\n"
    )
    rows = (f"| `{name}` | {_sentence(module)} |\n" for name, module in sorted(VERBS.items()))
    return head + "".join(rows) + "\n" + exits.HELP + "\n"


def openapi() -> str:
    """The document of the HTTP API."""
    from sessions_app.api.site import api  # noqa: PLC0415 - as above

    return json.dumps(api.get_openapi_schema(), indent=1, sort_keys=True) + "\n"


PAGES = {
    "reference/python-api.md": python_api,
    "reference/shell.md": verbs,
    "reference/turn-states.md": turn_states,
    "reference/controls.md": controls,
    "reference/events.md": events,
    "reference/openapi.json": openapi,
}

if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable_site.settings")
    django.setup()
    for name, make in PAGES.items():
        (DOCS / name).write_text(make(), encoding="utf-8")
