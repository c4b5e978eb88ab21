"""The invariants checker: reads a whole database in one snapshot and names every breach.

Row against row is SQL (`sql/*.sql`, one statement for each rule); the timeline is folded in Python,
some hundred Sessions at a time. Nothing here writes, and the runtime itself uses none of it.
"""

from sessions_app.store.invariants.checker import check
from sessions_app.store.invariants.report import Breach, Report, Skipped

__all__ = ["Breach", "Report", "Skipped", "check"]
