"""Columns of our own.

Canonical JSON as text (the same bytes on both databases, so digests hold) and ids.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any, Final
from zlib import compress, decompress

from django.db import models

from hands_app.contract.strict_json import canonical

if TYPE_CHECKING:
    from enum import StrEnum

    from django.db.backends.base.base import BaseDatabaseWrapper

    _Text = models.Field[Any, Any]
else:
    _Text = models.TextField

_PACKED: Final = "zlib:"
"""Begins no JSON text."""
_SMALL: Final = 2048


class CanonicalJSON(_Text):
    """JSON stored as canonical text. NULL is SQL NULL; JSON null is the text `null`."""

    def from_db_value(
        self, value: str | None, _expression: object, _connection: BaseDatabaseWrapper
    ) -> object:
        """Text of the database to a Python value."""
        return None if value is None else json.loads(value)

    def get_prep_value(self, value: object) -> str | None:
        """Python value to canonical text; raises InvalidJson for what canonical form refuses."""
        return None if value is None else canonical(value).decode()

    def to_python(self, value: object) -> object:
        """Values in memory stay as they are."""
        return value


class PackedJSON(CanonicalJSON):
    """The same for private bodies, which nobody reads in the database: large ones are compressed.

    They repeat what a message or a result says in public; so a step stays within three times its
    text (C40).
    """

    def from_db_value(
        self, value: str | None, expression: object, connection: BaseDatabaseWrapper
    ) -> object:
        """Text of the database to a Python value."""
        if value is not None and value.startswith(_PACKED):
            value = decompress(b64decode(value[len(_PACKED) :])).decode()
        return super().from_db_value(value, expression, connection)

    def get_prep_value(self, value: object) -> str | None:
        """Python value to text, packed if that is shorter."""
        text = super().get_prep_value(value)
        if text is None or len(text) < _SMALL:
            return text
        packed = _PACKED + b64encode(compress(text.encode(), 1)).decode()
        return min(text, packed, key=len)


def id_field(**options: Any) -> models.CharField[str, str]:  # noqa: ANN401 - Django field options
    """A primary key of ours: prefix, underscore, 26 characters."""
    return models.CharField(primary_key=True, max_length=40, editable=False, **options)


def choices(enum: type[StrEnum]) -> list[tuple[str, str]]:
    """Choices of a StrEnum for a column."""
    return [(member.value, member.value.lower().replace("_", " ")) for member in enum]
