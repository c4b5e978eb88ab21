"""Whether a value is large, told without writing it down, and what is shown of one that is."""

from __future__ import annotations

from typing import Final

from hands_app.contract.strict_json import OBJECT, JsonValue, canonical, digest

HEAD_BYTES: Final = 64 * 1024
"""How much of the text of a body that is too large is shown."""


def reaches(value: object, size: int) -> bool:
    """Whether nodes and characters of a JSON value come to `size`; looks no further than that.

    The canonical form of one that does not is at most six times as long, of ordinary text about
    as long.
    """
    seen = 0
    stack = [value]
    while stack and seen < size:
        inner = stack.pop()
        seen += 1
        match inner:
            case str():
                seen += len(inner)
            case dict():
                seen += sum(map(len, inner))
                stack += inner.values()
            case list() | tuple():
                stack += inner
            case _:
                pass
    return seen >= size


def truncated(content: JsonValue, form: bytes | None = None) -> dict[str, JsonValue]:
    """Return what stands for content that is too large: its size, digest and beginning."""
    form = canonical(content, limits=OBJECT) if form is None else form
    return {
        "truncated": True,
        "bytes": len(form),
        "digest": digest(content, limits=OBJECT),
        "head": form[:HEAD_BYTES].decode(errors="ignore"),
    }
