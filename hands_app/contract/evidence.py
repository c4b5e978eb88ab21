"""The options by which a shell brings evidence, the same at the commands of both houses (R199)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hands_app.contract.errors import Rejected
from hands_app.contract.reconciling import Reconciliation, verified
from hands_app.contract.strict_json import loads

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hands_app.contract.strict_json import JsonValue


def add_evidence(parser: ArgumentParser) -> None:
    """Declare the options; each is required, and of content and message exactly one."""
    parser.add_argument("execution", help="execution id, as `durable explain` names it")
    parser.add_argument("--request-id", required=True, help="the same id and content are one")
    parser.add_argument("--expect", required=True, help="the state that you saw: UNKNOWN")
    parser.add_argument("--state", required=True, help="COMPLETED, FAILED or CANCELLED")
    told = parser.add_mutually_exclusive_group(required=True)
    told.add_argument("--content", help="JSON that a COMPLETED call would have returned")
    told.add_argument("--message", help="what the model is told of one that is not COMPLETED")
    parser.add_argument("--evidence", required=True, help="where the fact can be looked up")
    parser.add_argument("--by", required=True, help="who verified it")


def read_evidence(given: Namespace) -> Reconciliation:
    """The request that the options make; raises Rejected (InvalidJson) for one that is none."""
    if given.state == "COMPLETED" and given.content is None:
        message = "a COMPLETED call needs --content, the JSON that it would have returned"
        raise Rejected(message)
    content: JsonValue = None if given.content is None else loads(given.content)
    if given.state != "COMPLETED" and given.content is not None:
        message = f"a call that is {given.state!s:.40} needs --message and no --content"
        raise Rejected(message)
    return Reconciliation(
        request_id=given.request_id,
        execution_id=given.execution,
        expected=given.expect,
        result=verified(given.state, content=content, message=given.message or ""),
        evidence=given.evidence,
        operator=given.by,
    )
