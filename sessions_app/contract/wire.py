"""Views as they travel: camelCase JSON, made of a view's own fields and read back into it.

A view is written once, as the dataclass that Python callers get. `render` gives its JSON, `model`
a pydantic model of that JSON (for OpenAPI and for checking), `parse` the view again. Keys lie flat
(`namespace`, `sessionId`, `threadId`), instants are RFC 3339 in UTC, bytes are base64. What a user
or a tool said (`JsonValue`) is passed on as it is.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import (
    AwareDatetime,
    Base64Bytes,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    create_model,
)
from pydantic.alias_generators import to_camel

from hands_app.contract.strict_json import JsonValue
from sessions_app.contract import explanation, identity, paging, policy, status, versions, views
from sessions_app.contract.events import EventFilter
from sessions_app.contract.identity import DefinitionKey, SessionKey, ThreadKey
from sessions_app.contract.paging import EventPage, Page

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R")
T = TypeVar("T")

_CONFIG: Final = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)
_KEYS: Final = {
    SessionKey: ("namespace", "session_id"),
    ThreadKey: ("namespace", "session_id", "thread_id"),
}
_SUFFIX: Final = "View"


def _once(make: Callable[[type], R]) -> Callable[[type], R]:
    """`cache` for what is made of a view's class, which type checkers do not take for hashable."""
    return cache(make)


@dataclass(frozen=True, slots=True)
class _Member:
    """One field of a view."""

    name: str
    hint: Any

    @property
    def wire(self) -> str:
        return to_camel(self.name)

    @property
    def plain(self) -> bool:
        """Whether it holds somebody's JSON, whose names are not ours."""
        return self.hint is JsonValue or JsonValue in get_args(self.hint)


def render(value: object) -> JsonValue:  # noqa: PLR0911 - a line for each kind
    """Return the JSON of a view, a page, or a list of them."""
    match value:
        case None | bool() | int() | float():
            return value
        case Enum():
            return cast("JsonValue", value.value)
        case str():
            return value
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case bytes():
            return base64.b64encode(value).decode()
        case list() | tuple():
            return [render(each) for each in value]
        case dict():
            return {str(name): render(each) for name, each in value.items()}
        case _ if is_dataclass(value):
            return _render_view(value)
        case _:
            pass
    msg = f"{type(value).__name__} does not travel"
    raise TypeError(msg)


def _render_view(view: object) -> dict[str, JsonValue]:
    made: dict[str, JsonValue] = {}
    for member in _members(type(view)):
        value = getattr(view, member.name)
        if (parts := _KEYS.get(member.hint)) is not None:
            for part in parts:
                made[to_camel(part)] = _part(value, part)
        else:
            made[member.wire] = value if member.plain else render(value)
    return made


def _part(key: SessionKey | ThreadKey, name: str) -> str:
    owner = key if name == "thread_id" or isinstance(key, SessionKey) else key.session
    return cast("str", getattr(owner, name))


@_once
def model(view: type) -> type[BaseModel]:
    """Return the pydantic model of a view's JSON, named as the view without its suffix."""
    members: dict[str, Any] = {}
    for member in _members(view):
        if (parts := _KEYS.get(member.hint)) is not None:
            members |= dict.fromkeys(parts, (str, ...))
        else:
            members[member.name] = (_json_hint(member.hint), ...)
    doc = (view.__doc__ or "").strip().split("\n\n", maxsplit=1)[0].replace("\n", " ")
    name = view.__name__.removesuffix(_SUFFIX)
    return cast("type[BaseModel]", create_model(name, __config__=_CONFIG, __doc__=doc, **members))


@_once
def page_model(view: type) -> type[BaseModel]:
    """Return the model of a page of views."""
    return _page_model(view)


@_once
def event_page_model(view: type) -> type[BaseModel]:
    """Return the model of a page of events, which says how far it looked."""
    return _page_model(view, through=(int, ...), last_sequence=(int, ...))


def _page_model(view: type, **more: Any) -> type[BaseModel]:  # noqa: ANN401 - pydantic's form
    items: Any = list[model(view)]  # type: ignore[misc]  # of a computed type
    name = f"{view.__name__.removesuffix(_SUFFIX)}Page"
    return cast(
        "type[BaseModel]",
        create_model(
            name, __config__=_CONFIG, items=(items, ...), next_cursor=(str | None, ...), **more
        ),
    )


@_once
def list_model(view: type) -> type[BaseModel]:
    """Return the model of a list of views that is never long."""
    name = f"{view.__name__.removesuffix(_SUFFIX)}List"
    items: Any = list[model(view)]  # type: ignore[misc]  # of a computed type
    return cast("type[BaseModel]", create_model(name, __base__=RootModel[items]))


def parse(view: type[T], value: object) -> T:
    """Return the view that a JSON document describes.

    Raises pydantic's ValidationError for one that does not fit; members that are not known here,
    which a newer server may add, are passed over.
    """
    return _build(view, model(view).model_validate(value))


def parse_page(view: type[T], value: object) -> Page[T]:
    """Return a page of views; raises as `parse` does."""
    read: Any = page_model(view).model_validate(value)
    return Page(tuple(_build(view, each) for each in read.items), read.next_cursor)


def parse_event_page(view: type[T], value: object) -> EventPage[T]:
    """Return a page of events; raises as `parse` does."""
    read: Any = event_page_model(view).model_validate(value)
    items = tuple(_build(view, each) for each in read.items)
    return EventPage(items, read.next_cursor, read.through, read.last_sequence)


def _build(view: type[T], read: object) -> T:
    made: dict[str, Any] = {}
    for member in _members(view):
        if (parts := _KEYS.get(member.hint)) is not None:
            namespace, session_id, *thread_id = (getattr(read, part) for part in parts)
            session = SessionKey(namespace, session_id)
            made[member.name] = session.thread(*thread_id) if thread_id else session
        else:
            made[member.name] = _value(member.hint, getattr(read, member.name))
    return view(**made)


def _value(hint: Any, read: Any) -> Any:  # noqa: ANN401 - any type, any value
    """The Python value behind what the model read, which has models in the place of views."""
    origin, inner = get_origin(hint), get_args(hint)
    if read is None or hint is JsonValue:
        return read
    if is_dataclass(hint):
        return _build(cast("type[Any]", hint), read)
    if origin in {Union, UnionType}:
        return _value(next(each for each in inner if each is not NoneType), read)
    if origin is tuple:
        return tuple(_value(inner[0], each) for each in read)
    if origin is dict:
        return {name: _value(inner[1], each) for name, each in read.items()}
    return read


@_once
def _members(view: type) -> tuple[_Member, ...]:
    hints = get_type_hints(view, localns=_names(), include_extras=True)
    return tuple(_Member(each.name, hints[each.name]) for each in fields(view))


@cache
def _names() -> dict[str, Any]:
    """What views name in their annotations; most of it is imported for type checkers alone."""
    found: dict[str, Any] = {"datetime": datetime, "JsonValue": JsonValue}
    for module in (identity, paging, policy, status, explanation, versions, views):
        found |= {name: each for name, each in vars(module).items() if isinstance(each, type)}
    return found | {"EventFilter": EventFilter, "DefinitionKey": DefinitionKey}


def _json_hint(hint: Any) -> Any:  # noqa: ANN401, PLR0911 - a line for each kind of type
    """The type of the JSON in the place of a Python type."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is datetime:
        return AwareDatetime
    if hint is bytes:
        return Base64Bytes
    if hint is JsonValue:
        return Annotated[Any, Field(description="any JSON value")]
    if isinstance(hint, type) and is_dataclass(hint):
        return model(hint)
    if origin in {Union, UnionType}:
        return Union[tuple(_json_hint(each) for each in inner)]  # noqa: UP007 - of a computed tuple
    if origin is tuple:
        return list[_json_hint(inner[0])]  # type: ignore[misc]  # of a computed type
    if origin is dict:
        return dict[str, _json_hint(inner[1])]  # type: ignore[misc]  # of a computed type
    return hint
