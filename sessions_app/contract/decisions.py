"""What people decide: answers to interactions, and standing rules that answer ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypedDict

from hands_app.contract.errors import InvalidJson
from hands_app.contract.strict_json import check
from sessions_app.contract.errors import Invalid, WrongAnswer
from sessions_app.contract.identity import checked_name

if TYPE_CHECKING:
    from datetime import datetime

    from hands_app.contract.strict_json import JsonValue

REASON_LENGTH: Final = 2000
ACTOR_LENGTH: Final = 128
_FORM: Final = '`true`, `false` or {"decision": "allow" or "deny", "reason": ...}'


@dataclass(frozen=True, slots=True)
class Decision:
    """Allow once, or deny, with the reason that was given."""

    allow: bool
    reason: str = ""

    @property
    def word(self) -> str:
        """`allow` or `deny`."""
        return "allow" if self.allow else "deny"

    def stored(self) -> JsonValue:
        """As the interaction keeps it."""
        return {"decision": self.word, "reason": self.reason}


def decision(response: object) -> Decision:
    """Read the answer to an approval; raises WrongAnswer for anything else."""
    match response:
        case bool():
            return Decision(response)
        case {"decision": "allow" | "deny" as word, **rest} if rest.keys() <= {"reason"}:
            return Decision(word == "allow", checked_reason(rest.get("reason") or ""))
        case _:
            msg = f"an approval is answered with {_FORM}"
            raise WrongAnswer(msg)


def checked_reason(reason: object) -> str:
    """Return a reason of at most 2000 characters, else raise Invalid."""
    if isinstance(reason, str) and len(reason) <= REASON_LENGTH:
        return str(checked_json("reason", reason))
    msg = f"a reason is a text of at most {REASON_LENGTH} characters"
    raise Invalid(msg)


def checked_actor(actor: object) -> str:
    """Return who asks, a text of 1 to 128 characters, else raise Invalid."""
    if isinstance(actor, str) and 0 < len(actor) <= ACTOR_LENGTH:
        return str(checked_json("actor", actor))
    msg = f"an actor is a text of 1 to {ACTOR_LENGTH} characters"
    raise Invalid(msg)


def checked_json(what: str, value: object) -> JsonValue:
    """Return `value` if it is strict JSON, else raise Invalid."""
    try:
        return check(value)
    except InvalidJson as error:
        msg = f"the {what} is no strict JSON: {error}"
        raise Invalid(msg) from None


class RuleScope(TypedDict, total=False):
    """What narrows a standing rule."""

    agent: str | None
    session_id: str | None
    reason: str
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class RuleDraft:
    """A standing rule to make; a scope that is None covers all."""

    namespace: str
    tool: str
    allow: bool
    by: str
    agent: str | None = None
    session_id: str | None = None
    arguments_digest: str | None = None
    reason: str = ""
    expires_at: datetime | None = None

    def __post_init__(self) -> None:
        """Raise Invalid for unsafe names, and for an end that hangs on who reads its clock."""
        checked_name("namespace", self.namespace)
        checked_name("tool", self.tool)
        checked_actor(self.by)
        if self.agent is not None:
            checked_name("agent name", self.agent)
        if self.session_id is not None:
            checked_name("session id", self.session_id)
        checked_reason(self.reason)
        if self.expires_at is not None and self.expires_at.utcoffset() is None:
            msg = f"expires_at {self.expires_at} has no time zone; give one"
            raise Invalid(msg)
