"""Standing rules: made, revoked and listed by namespace; each change is audited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q

from hands_app.contract.ids import new_id
from sessions_app.contract.errors import NotFound
from sessions_app.machine import rules
from sessions_app.models import Session, StandingRule
from sessions_app.store import clock, views
from sessions_app.store.looking import look, page
from sessions_app.store.transaction import run

if TYPE_CHECKING:
    from sessions_app.contract.decisions import RuleDraft
    from sessions_app.contract.paging import Page
    from sessions_app.contract.views import RuleView
    from sessions_app.store.unit import Unit


def create(asked: RuleDraft) -> RuleView:
    """Answer later approvals ahead; audited. Raises NotFound for a Session that is not there."""
    name = new_id("rule_")  # made before the commit, whose answer may be lost (S7)

    def body(unit: Unit) -> StandingRule:
        known = StandingRule.objects.select_related("session").filter(pk=name).first()
        return known or rules.create(unit.change, name, asked, _session(asked))

    return views.rule_view(run("rule.change", body))


def revoke(namespace: str, rule_id: str, by: str, reason: str = "") -> RuleView:
    """Let a rule answer nothing from now on; audited, and twice is once. Raises NotFound."""

    def body(unit: Unit) -> StandingRule:
        rows = StandingRule.objects.select_for_update(no_key=True, of=("self",))
        rule = rows.select_related("session").filter(pk=rule_id, namespace=namespace).first()
        if rule is None:
            msg = f"standing rule {rule_id} was not found in {namespace}; list its rules"
            raise NotFound(msg)
        rules.revoke(unit.change, unit.watch(rule), by, reason)
        return rule

    return views.rule_view(run("rule.change", body))


@look
def listed(
    namespace: str, cursor: str | None = None, limit: int = 100, *, past: bool = False
) -> Page[RuleView]:
    """Standing rules of a namespace that are in force, or with `past` those that were."""
    now = clock.now()
    rows = StandingRule.objects.select_related("session").filter(namespace=namespace)
    if past:
        rows = rows.filter(Q(revoked_at__isnull=False) | Q(expires_at__lte=now))
    else:
        rows = rows.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None)
    name = f"rules of {namespace} {past}"
    return page(rows, name, "id", cursor, limit, views.rule_view)


def _session(asked: RuleDraft) -> Session | None:
    if asked.session_id is None:
        return None
    found = Session.objects.filter(namespace=asked.namespace, session_id=asked.session_id).first()
    if found is None:
        msg = f"session {asked.namespace}/{asked.session_id} was not found"
        raise NotFound(msg)
    return found
