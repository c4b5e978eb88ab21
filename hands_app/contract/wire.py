"""What every type that travels between the houses has in common."""

from __future__ import annotations

from typing import Annotated, Final, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError
from pydantic.alias_generators import to_camel

from hands_app.contract.errors import InvalidEnvelope
from hands_app.contract.strict_json import ENVELOPE, JsonValue, canonical, loads

MAX_ENVELOPE_BYTES: Final = ENVELOPE.bytes
"""Size of a serialised envelope, 1 MiB (R192)."""

Id = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,8}_[0-9a-z]{26}$")]
Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,63}$")]
SIGNAL_KEY: Final = r"^x(\.[A-Za-z0-9_-]+){2,}$"
"""Form of the name of a signal, `x.<ns>.<name>` (R147)."""
ROUTE: Final = r"^[a-z][a-z0-9_-]{0,31}$"
"""Form of the name of a pool of tools."""
Route = Annotated[str, StringConstraints(pattern=ROUTE)]


class Wire(BaseModel):
    """A frozen type with camelCase names outside and no unknown members."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
    )

    def to_json(self) -> dict[str, JsonValue]:
        """Return the value under its wire names."""
        return self.model_dump(mode="json", by_alias=True)


AnyWire = TypeVar("AnyWire", bound=Wire)


def encode(message: Wire) -> str:
    """Return the envelope's canonical text.

    Raises:
        InvalidJson: more than 1 MiB (reason `SIZE`), or content that is no strict JSON.
    """
    return canonical(message.to_json(), limits=ENVELOPE).decode()


def decode(model: type[AnyWire], text: bytes | str) -> AnyWire:
    """Read one envelope through the strict loader.

    Raises:
        InvalidJson: no strict JSON, or more than 1 MiB.
        InvalidEnvelope: another version, a missing, unknown or wrong member.
    """
    loads(text, limits=ENVELOPE)
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise InvalidEnvelope(_explain(model, error), _kinds(error)) from None


def _kinds(error: ValidationError) -> tuple[str, ...]:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return tuple(sorted({item["type"] for item in found}))


def _explain(model: type[Wire], error: ValidationError) -> str:
    """Name the members that are wrong without repeating their content."""
    parts = [
        f"{'.'.join(map(str, item['loc'])) or 'document'}: {item['type']}"
        for item in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    return f"no {model.__name__} envelope: {'; '.join(parts[:5])}"
