"""Show what people are asked: of one turn, or everything that a namespace can answer now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hands_app.contract.strict_json import canonical
from sessions_app.runtime import DurableRuntime

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sessions_app.contract.paging import Page
    from sessions_app.contract.views import InteractionView
    from sessions_app.management.output import Output

CHECKED: Final = True
_LENGTH: Final = 200


def add_arguments(parser: ArgumentParser) -> None:
    """Declare arguments."""
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--namespace", help="what can be answered now, over all its sessions")
    where.add_argument("--turn", help="everything that this turn asked, answered or not")
    parser.add_argument("--set-aside", action="store_true", help="of a namespace, what was put off")
    parser.add_argument("--cursor", help="of the page before")
    parser.add_argument("--limit", type=int, default=100, help="lines a page")


def run(options: dict[str, Any], out: Output) -> int:
    """List them."""
    with DurableRuntime() as runtime:
        page = _page(runtime, options)
    out.data(page)
    for view in page.items:
        out.line(f"{view.interaction_id} {view.kind} {view.status} {view.tool} in {view.key}")
        out.line(f"  {canonical(view.arguments).decode()[:_LENGTH]}")
        out.line(f"  {_standing(view)}")
    if not page.items:
        out.line("nobody is asked anything here")
    if page.next_cursor:
        out.line(f"more: --cursor {page.next_cursor}")
    return 0


def _page(runtime: DurableRuntime, options: dict[str, Any]) -> Page[InteractionView]:
    cursor, limit = options["cursor"], options["limit"]
    if options["turn"]:
        return runtime.find_turn(options["turn"]).list_interactions(cursor, limit)
    apart = options["set_aside"]
    return runtime.inbox(options["namespace"], cursor, limit, set_aside=apart)


def _standing(view: InteractionView) -> str:
    """Who is asked until when, or what was decided, and how far the call has come."""
    words = [f"turn {view.turn_id}", f"call {view.call_state}", f"risk {view.risk}"]
    if view.assignee:
        words.append(f"for {view.assignee}")
    if view.expires_at is not None:
        words.append(f"until {view.expires_at.isoformat()}")
    if view.decision is not None:
        words.append(f"{view.decision} by {view.rule_id or view.answered_by or 'somebody'}")
    if view.set_aside_by is not None:
        words.append(f"set aside by {view.set_aside_by}")
    return ", ".join(words)
