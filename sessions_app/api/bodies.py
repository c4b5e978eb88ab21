"""Parts that request bodies share."""

from typing import Annotated, Final

from pydantic import Field, WrapValidator

from sessions_app.contract.content import MAX_INPUT_BYTES, UserInput, Wire

REQUEST_ID: Final = r"^[A-Za-z0-9._:@+~/=-]{1,200}$"
REASON_LENGTH: Final = 2000

Content = Annotated[
    Annotated[str, Field(pattern=r"\S", max_length=MAX_INPUT_BYTES)] | UserInput,
    WrapValidator(lambda given, _check: given),
]
"""A text, or version-1 content; `user_input` checks it, as of every other caller."""


class Requested(Wire):
    """What every control carries: once for its request id (R046)."""

    request_id: str = Field(pattern=REQUEST_ID)


class WithContent(Requested):
    """A control that brings something to read."""

    input: Content


class Reasoned(Requested):
    """A decision with the reason that goes on record."""

    reason: str = Field(default="", max_length=REASON_LENGTH)
