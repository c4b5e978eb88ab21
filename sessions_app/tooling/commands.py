"""Writes down what is sent to Hands: execute, cancel and query envelopes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, assert_never

from hands_app.contract.errors import InvalidEnvelope, InvalidJson, TooLarge
from hands_app.contract.ids import new_id
from hands_app.contract.messages import Cancel, Execute, ExecuteByReference, Output, Query
from hands_app.contract.strict_json import ENVELOPE, OBJECT, canonical
from hands_app.contract.wire import decode, encode

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from hands_app.contract.wire import Wire
    from sessions_app.tooling.boxes import Delivery, Objects, Question

TOO_LARGE: Final = "TOO_LARGE"
INVALID: Final = "INVALID_COMMAND"


class Unsendable(Exception):
    """No command can be made of the call, now or ever; `code` and text are fit for the model."""

    def __init__(self, code: str, why: object) -> None:
        """Say why."""
        super().__init__(f"the call cannot be put into a command: {why}")
        self.code = code


@dataclass(frozen=True, slots=True)
class Commands:
    """Makes the envelopes of one deployment; `namespace` is its own, as in its queues' names."""

    namespace: str
    objects: Objects = lambda: None

    def envelope(self, delivery: Delivery) -> str:
        """Return the text to send; raises Unsendable, and Unavailable while the store is away."""
        match delivery.sent:
            case "execute":
                return self._execute(delivery)
            case "cancel":
                return self._cancel(delivery)
            case "query":
                name, route, digest = delivery.execution_id, delivery.route, delivery.request_digest
                return self.query(name, route, digest, delivery.position)
            case never:
                assert_never(never)

    def query(self, execution_id: str, route: str, request_digest: str, after: int) -> str:
        """Ask for everything behind the prefix that is taken in (R186, R189)."""
        asked = Query(
            command_id=new_id("cmd_"),
            namespace=self.namespace,
            execution_id=execution_id,
            request_digest=request_digest,
            route=route,
            after=after,
        )
        return encode(asked)

    def output(self, question: Question) -> str:
        """Ask for a page of what a tool wrote (R191)."""
        asked = Output(
            command_id=question.command_id,
            namespace=self.namespace,
            execution_id=question.execution_id,
            request_digest=question.request_digest,
            route=question.route,
            offset=question.offset,
            limit=question.limit,
        )
        return encode(asked)

    def _cancel(self, delivery: Delivery) -> str:
        wish = Cancel(
            command_id=new_id("cmd_"),
            namespace=self.namespace,
            execution_id=delivery.execution_id,
            request_digest=delivery.request_digest,
            route=delivery.route,
        )
        return encode(wish)

    def _execute(self, delivery: Delivery) -> str:
        """Write the command from the row; the contract itself holds it against its digest (I34)."""
        document = _document(delivery, self.namespace)
        try:
            return _written(document, Execute)
        except InvalidJson as error:
            store = self.objects()
            if error.reason != "SIZE" or store is None:
                raise Unsendable(TOO_LARGE, error) from error
        try:
            reference = store.put(delivery.scope, canonical(delivery.arguments, limits=OBJECT))
            named = {**document, "version": "2", "arguments": reference.to_json()}
            return _written(named, ExecuteByReference)
        except (InvalidJson, TooLarge) as error:  # a binding beyond all bounds
            raise Unsendable(TOO_LARGE, error) from error


def _document(delivery: Delivery, namespace: str) -> dict[str, JsonValue]:
    return {
        "kind": "execute",
        "version": "1",
        "commandId": new_id("cmd_"),
        "namespace": namespace,
        "executionId": delivery.execution_id,
        "requestDigest": delivery.request_digest,
        "binding": delivery.binding,
        "arguments": delivery.arguments,
        "origin": delivery.origin,
        "route": delivery.route,
        "notAfter": None if delivery.not_after is None else delivery.not_after.isoformat(),
    }


def _written(document: dict[str, JsonValue], form: type[Wire]) -> str:
    """Write an envelope as its reader will read it; raises InvalidJson, Unsendable."""
    text = canonical(document, limits=ENVELOPE).decode()
    try:
        decode(form, text)
    except InvalidEnvelope as error:
        raise Unsendable(INVALID, error) from error
    return text
