"""List, make or revoke standing rules, which answer later approvals of a tool ahead."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from sessions_app.contract.errors import Invalid
from sessions_app.management.verbs.answers import as_json
from sessions_app.runtime import DurableRuntime

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sessions_app.contract.views import RuleView
    from sessions_app.management.output import Output

CHECKED: Final = True


def add_arguments(parser: ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument("namespace", help="whose rules")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--allow", metavar="TOOL", help="from now on allow calls of this tool")
    what.add_argument("--deny", metavar="TOOL", help="from now on refuse calls of this tool")
    what.add_argument("--revoke", metavar="RULE", help="let this rule answer nothing more")
    what.add_argument("--past", action="store_true", help="list those that were in force")
    parser.add_argument("--agent", help="for this agent only")
    parser.add_argument("--session", help="for this session only")
    parser.add_argument("--arguments", help="for exactly these arguments only, as JSON")
    parser.add_argument("--until", help="in force until then, ISO 8601; UTC without an offset")
    parser.add_argument("--reason", default="", help="why, for the record and for the model")
    parser.add_argument("--actor", help="who asks; default is the user of this shell")


def run(options: dict[str, Any], out: Output) -> int:
    """List, make or revoke."""
    actor, namespace = options["actor"] or getpass.getuser(), options["namespace"]
    with DurableRuntime() as runtime:
        if options["revoke"]:
            name, reason = options["revoke"], options["reason"]
            rules = [runtime.revoke_rule(namespace, name, by=actor, reason=reason)]
        elif options["allow"] or options["deny"]:
            rules = [_made(runtime, options, actor)]
        else:
            rules = list(runtime.list_rules(namespace, past=options["past"]).items)
    out.data(rules)
    for rule in rules:
        verb = "allow" if rule.allow else "deny"
        out.line(f"{rule.rule_id} {verb} {rule.tool}, by {rule.created_by}{_scope(rule)}")
    if not rules:
        was = "was" if options["past"] else "is"
        out.line(f"no rule {was} in force in {namespace}")
    return 0


def _made(runtime: DurableRuntime, options: dict[str, Any], actor: str) -> RuleView:
    exactly = options["arguments"]
    return runtime.create_rule(
        options["namespace"],
        options["allow"] or options["deny"],
        allow=bool(options["allow"]),
        by=actor,
        arguments=None if exactly is None else as_json("--arguments", exactly),
        agent=options["agent"],
        session_id=options["session"],
        reason=options["reason"],
        expires_at=_moment(options["until"]),
    )


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        msg = f"{text!r:.80} is no time; write it as 2027-01-31T18:00:00+00:00"
        raise Invalid(msg) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _scope(rule: RuleView) -> str:
    words = {
        "agent": rule.definition,
        "session": rule.session_id,
        "arguments": rule.arguments_digest,
        "until": rule.expires_at and rule.expires_at.isoformat(),
        "revoked by": rule.revoked_by,
        "because": rule.reason,
    }
    return "".join(f", {name} {value}" for name, value in words.items() if value)
