"""The API: its documents, its routes, and the answer to whatever is none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.urls import URLPattern, URLResolver, path
from ninja import NinjaAPI
from ninja.openapi.docs import Swagger

from sessions_app.api import problems
from sessions_app.api.bodies import NO_NUL
from sessions_app.api.operations import StrictParser, authenticate
from sessions_app.api.problems import MEDIA_TYPE
from sessions_app.api.routes import controls, events, operators, responses, sessions, turns
from sessions_app.api.stream import stream

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse
    from ninja.openapi.schema import OpenAPISchema

VERSION: Final = "1.0.0"
_FIRST_REFUSAL: Final = 400
_HERE: Final = {"$ref": "#/components/schemas/StrictJson"}
_STRICT_JSON: Final = {
    "title": "StrictJson",
    "description": "JSON that no reader changes: no NUL, no integer beyond 2^53 - 1, 100 levels",
    "anyOf": [
        {"type": ["null", "boolean"]},
        {"type": "number", "minimum": -(2**53) + 1, "maximum": 2**53 - 1},
        {"type": "string", "pattern": NO_NUL},
        {"type": "array", "items": _HERE},
        {
            "type": "object",
            "additionalProperties": _HERE,
            "propertyNames": {"pattern": NO_NUL},
        },
    ],
}
_SECURITY: Final = {
    "token": {"type": "http", "scheme": "bearer", "description": "`durable token create`"},
    "login": {"type": "apiKey", "in": "cookie", "name": "sessionid"},
}


class DurableApi(NinjaAPI):
    """Ninja's API with problem bodies and our ways to sign in in its document."""

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        """Return the OpenAPI 3.1 document."""
        made = super().get_openapi_schema(path_prefix=path_prefix, path_params=path_params)
        for operations in made["paths"].values():
            for operation in operations.values():
                _mend(operation)
        made["components"]["securitySchemes"] = _SECURITY
        made["components"]["schemas"]["StrictJson"] = _STRICT_JSON
        _name_strict(made["components"]["schemas"])
        return made


def _name_strict(schema: Any) -> None:  # noqa: ANN401 - any part of a document
    """Put the name of strict JSON where a schema says that it takes any JSON."""
    inner = schema.values() if isinstance(schema, dict) else schema
    for each in inner if isinstance(schema, dict | list) else ():
        if isinstance(each, dict) and each.get("format") == "durable-json":
            del each["format"]
            each["$ref"] = "#/components/schemas/StrictJson"
        else:
            _name_strict(each)


def _mend(operation: dict[str, Any]) -> None:
    """Say what Ninja does not: how refusals look, who may come in, that queries have no null."""
    for parameter in operation["parameters"]:
        schema = parameter["schema"]
        if schema.get("default", ...) is None:
            del schema["default"]
        if len(kinds := schema.get("anyOf", ())) == 1:
            schema |= kinds[0]
            del schema["anyOf"]
    for status, response in operation["responses"].items():
        if int(status) >= _FIRST_REFUSAL:
            content = response["content"]
            response["content"] = {MEDIA_TYPE: content.pop("application/json")}
    operation["security"] = [{"token": []}, {"login": []}]


api = DurableApi(
    title="durable_site",
    version=VERSION,
    description="Durable execution of LLM agents. Errors are RFC 9457 problems with stable codes.",
    auth=authenticate,
    parser=StrictParser(),
    docs_url=None,
    urls_namespace="durable-api-1",
)
problems.install(api)
for _router in (
    sessions.router,
    turns.router,
    controls.router,
    events.router,
    operators.router,
    responses.router,
):
    api.add_router("", _router)

responses_api = DurableApi(
    auth=authenticate,
    parser=StrictParser(),
    docs_url=None,
    openapi_url=None,
    urls_namespace="durable-responses",
)
"""The same two operations at the address that R288 names."""
problems.install(responses_api)
responses_api.add_router("", responses.router)


def documents(request: HttpRequest) -> HttpResponse:
    """The document for people, at `/api/docs`."""
    return Swagger().render_page(request, api)


urlpatterns: list[URLPattern | URLResolver] = [
    path("docs", documents, name="durable-api-docs"),
    path("v1/namespaces/<str:namespace>/sessions/<str:session_id>/events/stream", stream),
    path("v1/", api.urls),
]
OPEN: Final = frozenset({"/api/docs", "/api/v1/openapi.json"})
"""All that answers without a token: it says nothing of any tenant."""
