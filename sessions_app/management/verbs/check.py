"""Check the invariants over the whole database, in one snapshot, and name every breach.

Writers are not held up. Exit code 1 and one line for each breach when something is wrong. With
--tools it looks at the agents of this process instead and names each tool whose effect class nobody
chose: it counts as `once`, and a lost outcome of it needs a person.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sessions_app.management import exits
from sessions_app.registry import registry
from sessions_app.runtime import DurableRuntime
from sessions_app.store import invariants

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sessions_app.management.output import Output

CHECKED: Final = False


def add_arguments(parser: ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument(
        "--quiet", action="store_true", help="the system is at rest: ask also what still waits"
    )
    parser.add_argument("--oracle", type=Path, help="file with one line for each effect of a tool")
    parser.add_argument(
        "--tools", action="store_true", help="name tools whose effect class nobody chose"
    )
    parser.add_argument("--prompts", type=Path, help="log of the model provider")


def run(options: dict[str, Any], out: Output) -> int:
    """Check, print, tell."""
    if options["tools"]:
        return _tools(out)
    with DurableRuntime():
        report = invariants.check(
            quiet=options["quiet"], oracle=options["oracle"], prompts=options["prompts"]
        )
    out.data(report)
    for breach in report.breaches:
        out.line(str(breach))
    for told in report.contradictions:
        out.line(f"look at the evidence again: {told}")
    numbers = ", ".join(f"I{number}" for number in report.checked)
    out.line(f"{len(report.breaches)} breaches; checked {numbers}")
    for skipped in report.skipped:
        out.line(str(skipped))
    return exits.DONE if report.is_clean else exits.FOUND


def _tools(out: Output) -> int:
    """Look at every version that is registered here; what a resolver would give is not known."""
    registered = registry.keys()
    found = [
        (str(key), tool.name, tool.binding.route)
        for key in registered
        for tool in registry.get(key).tools
        if not tool.effect_chosen
    ]
    out.data({"unchosen": [{"agent": key, "tool": name, "route": at} for key, name, at in found]})
    for key, name, at in found:
        out.line(f"{key}: nobody chose the effect class of {name} ({at}), so it counts as `once`")
    out.line(f"{len(found)} tools without a chosen effect class")
    return exits.FOUND if found else exits.DONE
