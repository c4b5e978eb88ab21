"""What a user may send.

A string or version "1" content of text, image, audio and video parts (R036, R037).
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from hands_app.contract.errors import InvalidJson
from hands_app.contract.strict_json import JsonValue, check, digest
from sessions_app.contract.errors import Invalid

MAX_INPUT_BYTES: Final = 1024 * 1024


class Wire(BaseModel):
    """Base of everything that travels.

    Frozen, closed, camelCase on the wire and snake_case in Python.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )


_BLANK: Final = r"\x00-\x20\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff"
VISIBLE: Final = rf"^[^\x00]*[^{_BLANK}][^\x00]*$"
"""A text with something to read in it, the same in every dialect of patterns."""


_READABLE: Final = re.compile(f"[^{_BLANK}]")


def _tagged(schema: dict[str, Any]) -> None:
    """The type tells parts apart, so that documents ask for it; Python callers give a class."""
    schema["required"] = ["type", *schema["required"]]


class TextPart(Wire):
    """Plain text."""

    model_config = ConfigDict(json_schema_extra=_tagged)

    type: Literal["text"] = "text"
    text: str = Field(json_schema_extra={"pattern": VISIBLE})


_SUBTYPE: Final = "[A-Za-z0-9.+-]+"
_BASE64: Final = r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
_URL: Final = r"^https?://[!-.0-~][!-~]*$"


def _from_one_source(schema: dict[str, Any]) -> None:
    """For documents; `_one_source` checks it with a better word."""
    _tagged(schema)
    text, nothing = {"type": "string"}, {"type": "null"}
    schema["oneOf"] = [
        {"required": ["url"], "properties": {"url": text, "data": nothing}},
        {"required": ["data"], "properties": {"data": text, "url": nothing}},
    ]


class _Media(Wire):
    model_config = ConfigDict(json_schema_extra=_from_one_source)

    mime_type: str = Field(pattern=rf"^[a-z]+/{_SUBTYPE}$")
    url: str | None = Field(default=None, pattern=_URL, max_length=4096)
    data: str | None = Field(default=None, pattern=_BASE64)

    @model_validator(mode="after")
    def _one_source(self) -> _Media:
        if (self.url is None) == (self.data is None):
            msg = "give either url or data (base64)"
            raise ValueError(msg)
        return self


class ImagePart(_Media):
    """A picture by URL or as base64."""

    type: Literal["image"] = "image"
    mime_type: str = Field(pattern=rf"^image/{_SUBTYPE}$")


class AudioPart(_Media):
    """Sound by URL or as base64."""

    type: Literal["audio"] = "audio"
    mime_type: str = Field(pattern=rf"^audio/{_SUBTYPE}$")


class VideoPart(_Media):
    """Film by URL or as base64."""

    type: Literal["video"] = "video"
    mime_type: str = Field(pattern=rf"^video/{_SUBTYPE}$")


Part = Annotated[TextPart | ImagePart | AudioPart | VideoPart, Field(discriminator="type")]


class UserInput(Wire):
    """A user's input, version "1": one or more parts (R036)."""

    version: Literal["1"] = "1"
    parts: tuple[Part, ...] = Field(min_length=1, max_length=256)

    @property
    def text(self) -> str:
        """All text parts, joined by line breaks."""
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def digest(self) -> str:
        """Digest of the canonical form: equal content has equal digests in every process (I17)."""
        return digest(self.wire())

    def wire(self) -> dict[str, JsonValue]:
        """JSON-ready dictionary with wire names, unset members left out."""
        value: dict[str, JsonValue] = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return value


def user_input(value: object) -> UserInput:
    """Make a UserInput of a string, a dictionary or a UserInput.

    Raises Invalid for anything else (framework-native objects included, R037), for content that
    strict JSON refuses (NUL, lone surrogates, numbers that change), for a text without a visible
    character, which providers refuse, and for more than 1 MiB.
    """
    if isinstance(value, UserInput):
        parsed = value
    elif isinstance(value, str):
        parsed = UserInput(parts=(TextPart(text=value),))
    elif isinstance(value, dict):
        parsed = _parse(value)
    else:
        msg = f"input must be a string or version-1 content, not {type(value).__name__}"
        raise Invalid(msg)
    _check_strict(parsed.wire())
    _check_texts(parsed)
    _check_size(parsed)
    return parsed


def _parse(value: dict[Any, Any]) -> UserInput:
    _check_strict(value)  # first, so that a flood of members ends here
    try:
        return UserInput.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        msg = f"input does not fit version 1 at {where or 'the root'}: {first['msg']}"
        raise Invalid(msg) from None


def _check_strict(value: object) -> None:
    try:
        check(value)
    except InvalidJson as error:
        msg = f"input is refused: {error}"
        raise Invalid(msg) from None


def _check_texts(parsed: UserInput) -> None:
    if any(isinstance(part, TextPart) and not _READABLE.search(part.text) for part in parsed.parts):
        msg = "input has a text without a visible character; providers refuse such a message"
        raise Invalid(msg)


def _check_size(parsed: UserInput) -> None:
    size = sum(
        len(part.text) if isinstance(part, TextPart) else len(part.data or "")
        for part in parsed.parts
    )
    if size > MAX_INPUT_BYTES:
        msg = f"input of {size} characters: the limit is {MAX_INPUT_BYTES}; send large media by URL"
        raise Invalid(msg)
