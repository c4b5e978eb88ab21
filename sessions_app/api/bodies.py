"""Parts that request bodies share."""

from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, WrapValidator

from sessions_app.contract.content import MAX_INPUT_BYTES, VISIBLE, UserInput, Wire
from sessions_app.contract.decisions import REASON_LENGTH

REQUEST_ID: Final = r"^[A-Za-z0-9._:@+~/=-]{1,200}$"
NO_NUL: Final = r"^[^\x00]*$"
Reason = Annotated[str, Field(max_length=REASON_LENGTH, pattern=NO_NUL)]
"""For the record, and for the model where it is told."""

Content = Annotated[
    Annotated[str, Field(pattern=VISIBLE, max_length=MAX_INPUT_BYTES)] | UserInput,
    WrapValidator(lambda given, _check: given),
]
"""A text, or version-1 content; `user_input` checks it, as of every other caller."""


def _number(given: object) -> object:
    """JSON has one kind of number: 5.0 is 5; true and "5" are none."""
    if isinstance(given, bool | str):
        msg = "not a number"
        raise ValueError(msg)  # noqa: TRY004 - pydantic's way to refuse
    return given


IS_NUMBER: Final = BeforeValidator(_number)
"""Behind the bounds of a number: `Annotated[int, Field(ge=1), IS_NUMBER]`."""

FreeJson = Annotated[Any, Field(json_schema_extra={"format": "durable-json"})]
"""Any strict JSON; the document says what that is."""


class Requested(Wire):
    """What every control carries: once for its request id (R046)."""

    request_id: str = Field(pattern=REQUEST_ID)


class WithContent(Requested):
    """A control that brings something to read."""

    input: Content


class Reasoned(Requested):
    """A decision with the reason that goes on record."""

    reason: Reason = ""
