"""What a verb prints: plain lines for people, JSON for programs, one line for an error."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic.alias_generators import to_camel

if TYPE_CHECKING:
    from django.core.management.base import OutputWrapper

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.errors import DurableError


class Output:
    """Standard output and standard error of one verb."""

    def __init__(self, stdout: OutputWrapper, stderr: OutputWrapper, *, as_json: bool) -> None:
        """`as_json` silences plain lines; otherwise JSON is not printed."""
        self._stdout, self._stderr, self._as_json = stdout, stderr, as_json

    @property
    def is_live(self) -> bool:
        """Whether a person watches: a line may be written over."""
        return self._stdout.isatty() and not self._as_json

    def line(self, text: str) -> None:
        """Print one line for people."""
        if not self._as_json:
            self._stdout.write(_printable(text))
            self._stdout.flush()

    def progress(self, text: str) -> None:
        """Write over the current line of a terminal; nothing elsewhere. Empty text clears it."""
        if self.is_live:
            self._stdout.write(f"\r\x1b[2K{_printable(text)[:100]}", ending="")
            self._stdout.flush()

    def data(self, value: object) -> None:
        """Print one JSON value on one line for programs."""
        if self._as_json:
            self._stdout.write(json.dumps(as_json(value), ensure_ascii=False))
            self._stdout.flush()

    def raw(self, data: bytes) -> None:
        """Print bytes as they are, for whoever asked for exactly these; nothing with JSON.

        To a terminal they go as text without anything that it would obey.
        """
        if self._as_json or not data:
            return
        text = data.decode(errors="replace")
        binary = getattr(getattr(self._stdout, "_out", None), "buffer", None)
        if self.is_live:
            lines = text.split("\n")
            self._stdout.write("\n".join(_printable(line) for line in lines), ending="")
        elif binary is None:
            self._stdout.write(text, ending="")
        else:
            binary.write(data)
        self._stdout.flush()

    def note(self, text: str) -> None:
        """Print one line on standard error, beside what is printed."""
        self._stderr.write(_printable(text))

    def error(self, error: DurableError) -> None:
        """Print the stable code and the message, one line, on standard error."""
        self._stderr.write(f"{error.code}: {_printable(str(error))}")


def as_json(value: object) -> JsonValue:
    """Views and receipts as JSON: camelCase names, times as text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {to_camel(field.name): as_json(getattr(value, field.name)) for field in fields}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(item) for item in value]
    plain: Any = value
    return str(plain) if isinstance(plain, str) else plain


def _printable(text: str) -> str:
    """Text of users and models on one line, without anything that a terminal would obey."""
    return "".join(char if char.isprintable() else " " for char in text)
