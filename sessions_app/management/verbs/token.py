"""Make, list or revoke tokens for programs; a new one's secret is told once, here."""

from __future__ import annotations

import getpass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from sessions_app.contract.errors import Invalid
from sessions_app.contract.grants import Role, TokenDraft, roles
from sessions_app.store import clock, tokens

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sessions_app.contract.grants import TokenView
    from sessions_app.management.output import Output

CHECKED: Final = True
_DAYS: Final = 90
_LONGEST_DAYS: Final = 3650


def add_arguments(parser: ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument("action", choices=("create", "list", "revoke"))
    parser.add_argument("name", nargs="?", help="of the new token; or the id of the one to revoke")
    parser.add_argument(
        "--role",
        action="append",
        choices=[str(role) for role in Role],
        help="what it may do; several times for several roles",
    )
    parser.add_argument("--namespace", action="append", help="whose Sessions it sees; repeatable")
    parser.add_argument("--all-namespaces", action="store_true", help="it sees all")
    parser.add_argument("--days", type=int, default=_DAYS, help=f"it holds so long ({_DAYS})")
    parser.add_argument("--rate", type=float, help="requests a second; default: the deployment's")
    parser.add_argument("--past", action="store_true", help="list those that hold no more")
    parser.add_argument("--actor", help="who asks; default is the user of this shell")


def run(options: dict[str, Any], out: Output) -> int:
    """Make, list or revoke."""
    actor = options["actor"] or getpass.getuser()
    if options["action"] == "list":
        return _list(out, past=options["past"])
    if not options["name"]:
        msg = "name the token; `durable token list` shows those there are"
        raise Invalid(msg)
    if options["action"] == "revoke":
        revoked = tokens.revoke(options["name"], actor)
        out.data(revoked)
        out.line(f"{revoked.token_id} {revoked.name} lets nobody in any more")
        return 0
    made = tokens.create(_draft(options, actor))
    out.data(made)
    out.note(f"{made.token.token_id} {_said(made.token)}; the secret is not shown again")
    out.line(made.secret)
    return 0


def _draft(options: dict[str, Any], actor: str) -> TokenDraft:
    if bool(options["namespace"]) == options["all_namespaces"]:
        msg = "say what it sees: --namespace, once or more, or --all-namespaces"
        raise Invalid(msg)
    if not 1 <= options["days"] <= _LONGEST_DAYS:
        msg = f"a token holds for 1 to {_LONGEST_DAYS} days, not {options['days']}"
        raise Invalid(msg)
    return TokenDraft(
        name=options["name"],
        roles=roles(options["role"] or ()),
        by=actor,
        namespaces=frozenset(options["namespace"]) if options["namespace"] else None,
        expires_at=clock.now() + timedelta(days=options["days"]),
        rate=options["rate"],
    )


def _list(out: Output, *, past: bool) -> int:
    found: list[TokenView] = []
    cursor = None
    while True:
        page = tokens.listed(cursor, past=past)
        found += page.items
        if (cursor := page.next_cursor) is None:
            break
    out.data(found)
    for token in found:
        out.line(f"{token.token_id} {_said(token)}")
    if not found:
        out.line("no token holds; `durable token create` makes one" if not past else "none")
    return 0


def _said(token: TokenView) -> str:
    seen = "all namespaces" if token.namespaces is None else ", ".join(token.namespaces)
    until = f", until {token.expires_at:%Y-%m-%d}" if token.expires_at else ""
    used = f", used {token.used_at:%Y-%m-%d %H:%M}" if token.used_at else ""
    return f"{token.name} ({', '.join(token.roles)}) on {seen}{until}{used}"
