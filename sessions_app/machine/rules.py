"""Standing rules: which answer given ahead holds for a call (the strictest one that fits)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hands_app.contract.strict_json import digest
from sessions_app.contract.decisions import Decision
from sessions_app.contract.errors import Invalid
from sessions_app.models import AuditEntry, StandingRule

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.decisions import RuleDraft
    from sessions_app.machine.change import Change
    from sessions_app.models import Session, Thread, ToolCall


def choose(
    rules: Sequence[StandingRule], session: Session, thread: Thread, call: ToolCall, now: datetime
) -> StandingRule | None:
    """The rule that answers this call: one that denies before those that allow."""
    found = [rule for rule in rules if _fits(rule, session, thread, call, now)]
    return min(found, key=lambda rule: (rule.allow, rule.created_at, rule.id), default=None)


def _fits(
    rule: StandingRule, session: Session, thread: Thread, call: ToolCall, now: datetime
) -> bool:
    return (
        in_force(rule, now)
        and rule.namespace == session.namespace
        and rule.tool == call.name
        and rule.definition in {None, thread.definition}
        and rule.session_id in {None, session.id}
        and rule.arguments_digest in {None, digest(call.arguments)}
    )


def in_force(rule: StandingRule, now: datetime) -> bool:
    """Whether it is neither revoked nor past its expiry."""
    return rule.revoked_at is None and (rule.expires_at is None or rule.expires_at > now)


def decision(rule: StandingRule) -> Decision:
    """What it answers."""
    return Decision(rule.allow, rule.reason)


def create(change: Change, name: str, asked: RuleDraft, session: Session | None) -> StandingRule:
    """A rule of this id, from now on; audited. Raises Invalid for one that would never hold."""
    if asked.expires_at is not None and asked.expires_at <= change.now:
        msg = f"a rule until {asked.expires_at} would never hold; name a time to come, or none"
        raise Invalid(msg)
    rule = StandingRule(
        id=name,
        namespace=asked.namespace,
        definition=asked.agent,
        session=session,
        tool=asked.tool,
        arguments_digest=asked.arguments_digest,
        allow=asked.allow,
        reason=asked.reason,
        created_by=asked.by,
        created_at=change.now,
        expires_at=asked.expires_at,
    )
    change.add(rule, _audited(change, rule, asked.by, "rule.created", asked.reason, None))
    return rule


def revoke(change: Change, rule: StandingRule, by: str, reason: str) -> None:
    """It answers nothing from now on; what it answered stays. Revoking twice changes nothing."""
    if rule.revoked_at is not None:
        return
    before = _scope(rule)
    rule.revoked_at, rule.revoked_by = change.now, by
    change.add(_audited(change, rule, by, "rule.revoked", reason, before))


def _audited(
    change: Change, rule: StandingRule, by: str, action: str, reason: str, before: JsonValue
) -> AuditEntry:
    return AuditEntry(
        id=change.new_id("aud_"),
        session=rule.session,
        actor=by,
        action=action,
        target=rule.id,
        reason=reason,
        before=before,
        after=_scope(rule),
        at=change.now,
    )


def _scope(rule: StandingRule) -> JsonValue:
    return {
        "namespace": rule.namespace,
        "definition": rule.definition,
        "session": rule.session_id,
        "tool": rule.tool,
        "argumentsDigest": rule.arguments_digest,
        "allow": rule.allow,
        "expiresAt": rule.expires_at.isoformat() if rule.expires_at else None,
        "revokedAt": rule.revoked_at.isoformat() if rule.revoked_at else None,
    }
