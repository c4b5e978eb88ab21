"""How an address is made: who may use it, what it takes and gives, and how it refuses.

Everything is closed: there is no way to make an operation without naming what it needs.
"""

from __future__ import annotations

import inspect
import json
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, Final, cast

from django.http import HttpResponse
from ninja.parser import Parser
from pydantic.alias_generators import to_camel

from hands_app.contract.strict_json import loads
from sessions_app.api import authorizing
from sessions_app.api.limits import LIMITS
from sessions_app.api.problems import Problem, UnsupportedMedia
from sessions_app.contract import wire
from sessions_app.contract.errors import Invalid
from sessions_app.runtime import DurableRuntime

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest
    from ninja import Router
    from pydantic import BaseModel

    from sessions_app.contract.grants import Identity, Operation

SESSIONS: Final = "/namespaces/{namespace}/sessions"
SESSION: Final = SESSIONS + "/{sessionId}"
THREAD: Final = SESSION + "/threads/{threadId}"
TURN: Final = SESSION + "/turns/{turnId}"
RUN: Final = TURN + "/runs/{runId}"
_IDENTITY: Final = "durable_identity"
_READING: Final = (400, 401, 403, 404, 429, 503)
_WRITING: Final = (*_READING, 409, 413, 415)


class StrictParser(Parser):
    """Bodies are strict JSON, announced as such (R123)."""

    def parse_body(self, request: HttpRequest) -> Any:  # noqa: ANN401 - Ninja's type
        """Read the body; raises InvalidJson and UnsupportedMedia."""
        if request.content_type != "application/json":
            msg = "send a body as application/json"
            raise UnsupportedMedia(msg)
        return loads(request.body)


@cache
def runtime() -> DurableRuntime:
    """The runtime of this process: it starts nothing and needs no agent's code (R114, R115)."""
    return DurableRuntime()


def authenticate(request: HttpRequest) -> Identity:
    """Say who asks; raises Unauthenticated, and RateLimited for who asks too often."""
    identity = authorizing.current().identify(request)
    LIMITS.take(identity)
    vars(request)[_IDENTITY] = identity
    return identity


def identity_of(request: HttpRequest) -> Identity:
    """Who asks, as `authenticate` found."""
    return cast("Identity", vars(request)[_IDENTITY])


def route(
    router: Router,
    method: str,
    path: str,
    *,
    needs: Operation,
    gives: type[BaseModel] | None,
    status: int = 200,
    refuses: tuple[int, ...] = (),
) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Make an operation of a function that gives a view, a page of them, or nothing.

    Its first argument is where it happens (a path of `parameters.py`), one named `identity` is who
    asks. It runs only for who may do what it `needs` there. `refuses` are statuses beyond those of
    every reading or writing operation.
    """

    def decorate(view: Callable[..., object]) -> Callable[..., object]:
        wants_identity = "identity" in inspect.signature(view).parameters

        @wraps(view)
        def guarded(request: HttpRequest, **values: object) -> HttpResponse:
            check_query(request, known())
            identity = identity_of(request)
            where = values.get("where")
            namespace = getattr(where, "namespace", None)
            session_id = getattr(where, "session_id", None)
            authorizing.current().authorize(identity, needs, namespace, session_id)
            if wants_identity:
                values["identity"] = identity
            return reply(view(**values), status)

        @cache
        def known() -> frozenset[str]:
            return _query_names(router, path, method)

        _give_request(guarded, view)
        refused = {*(_READING if method == "GET" else _WRITING), *refuses}
        register = router.api_operation(
            [method],
            path,
            response={status: gives, **dict.fromkeys(sorted(refused), Problem)},
            by_alias=True,
            operation_id=to_camel(view.__name__),
            summary=view.__name__.replace("_", " ").capitalize(),
        )
        register(guarded)
        return view

    return decorate


def _give_request(guarded: Callable[..., object], view: Callable[..., object]) -> None:
    """Give Ninja the signature that it reads: the request first, nothing that we add."""
    signature = inspect.signature(view)
    request = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    taken = [each for name, each in signature.parameters.items() if name != "identity"]
    guarded.__signature__ = inspect.Signature([request, *taken])  # type: ignore[attr-defined]


def reply(value: object, status: int = 200) -> HttpResponse:
    """Answer with a view or a page as JSON; nobody may keep a copy."""
    text = json.dumps(wire.render(value), ensure_ascii=False, separators=(",", ":"))
    response = HttpResponse(text.encode(), status=status, content_type="application/json")
    response["Cache-Control"] = "no-store"
    return response


def _query_names(router: Router, path: str, method: str) -> frozenset[str]:
    operations = router.path_operations[path].operations
    mine = next(each for each in operations if method in each.methods)
    queries = [each for each in mine.models if each.__ninja_param_source__ == "query"]
    return frozenset(name for each in queries for name in each.__ninja_flatten_map__)


def check_query(request: HttpRequest, known: frozenset[str]) -> None:
    """Raise Invalid for a parameter that is not known, or is given twice."""
    for name, values in request.GET.lists():
        if name not in known:
            allowed = ", ".join(sorted(known)) or "none"
            msg = f"{name!r:.40} is not a parameter here; known: {allowed}"
            raise Invalid(msg)
        if len(values) > 1:
            msg = f"{name} is given {len(values)} times; give it once"
            raise Invalid(msg)
