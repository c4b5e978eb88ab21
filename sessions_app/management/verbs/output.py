"""Print what a tool wrote, up to where it stands now; gaps go to standard error.

Bytes are printed as they are. With --json each page is one line, its bytes in base 64.
"""

from __future__ import annotations

import base64
import dataclasses
from typing import TYPE_CHECKING, Any, Final

from sessions_app.runtime import DurableRuntime

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sessions_app.contract.views import OutputView
    from sessions_app.management.output import Output

CHECKED: Final = True


def add_arguments(parser: ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument("turn", help="turn id")
    parser.add_argument("call", help="execution id, or the model's call id")
    parser.add_argument("--offset", type=int, default=0, help="byte to begin with")
    parser.add_argument("--timeout", type=float, default=5.0, help="seconds to wait for a page")


def run(options: dict[str, Any], out: Output) -> int:
    """Read page after page."""
    offset = options["offset"]
    with DurableRuntime() as runtime:
        turn = runtime.find_turn(options["turn"])
        while True:
            page = turn.output(options["call"], offset, timeout=options["timeout"])
            _print(page, out)
            if page.next == offset:
                return 0
            offset = page.next


def _print(page: OutputView, out: Output) -> None:
    out.data({**_fields(page), "data": base64.b64encode(page.data).decode()})
    out.raw(page.data)
    if page.gap is not None:
        many = "an unknown number of" if page.lost is None else str(page.lost)
        out.note(f"{many} bytes are missing from {page.offset} on: {page.gap}")


def _fields(page: OutputView) -> dict[str, Any]:
    return {field.name: getattr(page, field.name) for field in dataclasses.fields(page)}
