"""The demo's tools: one that runs in the Brain's process, one that runs in Hands.

No Django here: a Hands process loads this module too.
"""

import os
from pathlib import Path

from durable_site.demo import oracle
from hands_app.tools import Tool, ToolContext, tool

_LAST_NIGHT = {
    "checkout": ["payment timed out"] * 11 + ["card service refused the connection"] * 6,
    "search": ["index is older than one hour"] * 3,
}


@tool(effect="idempotent")
def count_errors(service: str, context: ToolContext) -> str:
    """Count last night's errors of a service and name the most frequent one."""
    oracle.record("count_errors", context.execution_key)
    errors = _LAST_NIGHT.get(service, [])
    if not errors:
        return f"no errors in {service}"
    worst = max(set(errors), key=errors.count)
    return f"{len(errors)} errors in {service}, most often: {worst} ({errors.count(worst)} times)"


@tool(route="hands", effect="once", deadline=60.0)
def write_report(service: str, findings: str, context: ToolContext) -> str:
    """Write the night report of a service to a file and return the file's name."""
    oracle.record("write_report", context.execution_key)
    context.progress("writing the report", fraction=0.5)
    folder = Path(os.environ["DURABLE_STATE_DIR"]) / "reports"
    folder.mkdir(mode=0o700, exist_ok=True)
    report = folder / f"{_plain(service)}.md"
    report.write_text(f"# Night report: {service}\n\n{findings}\n")
    return f"reports/{report.name}"


def _plain(service: str) -> str:
    """Return a name that stays inside its folder, whatever a model came up with."""
    return "".join(c for c in service.lower() if c.isalnum() or c == "-")[:64] or "unnamed"


tools: list[Tool] = [count_errors, write_report]
