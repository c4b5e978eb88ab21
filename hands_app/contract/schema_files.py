"""JSON Schema files of what travels between the houses, for readers elsewhere (R188, R206).

They are made from the types by `python -m hands_app schemas`, and a test holds them equal. Digests,
the fit of a route and the like cannot be said in a schema; `docs/reference/hands-contract.md` does.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter

from hands_app.contract.binding import ToolBinding
from hands_app.contract.messages import (
    Cancel,
    Execute,
    ExecuteByReference,
    ExecutionResult,
    Output,
    Query,
    Update,
)
from hands_app.contract.output import OutputPage
from hands_app.contract.references import ObjectReference

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
DOCUMENTS: Final[Mapping[str, Any]] = {
    "binding": ToolBinding,
    "cancel": Cancel,
    "execute": Execute | ExecuteByReference,
    "output": Output,
    "page": OutputPage,
    "query": Query,
    "reference": ObjectReference,
    "result": ExecutionResult,
    "update": Update,
}
"""Each kind of document and its type."""


def folder() -> Traversable:
    """Where the files are shipped."""
    return files("hands_app.contract") / "schemas"


def text_of(name: str) -> str:
    """Return the text of the file of one kind."""
    schema = TypeAdapter(DOCUMENTS[name]).json_schema(by_alias=True, mode="validation")
    described = {"$schema": DIALECT, "$id": f"urn:durable:hands:{name}:1", **schema}
    return json.dumps(described, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def write() -> list[str]:
    """Write every file beside this module; returns the names."""
    place = Path(__file__).with_name("schemas")
    place.mkdir(exist_ok=True)
    for name in DOCUMENTS:
        (place / f"{name}.json").write_text(text_of(name), encoding="utf-8")
    return sorted(DOCUMENTS)
