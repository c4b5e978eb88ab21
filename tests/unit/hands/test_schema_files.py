"""The JSON Schema files say what the types say (R188, R206)."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hands_app.contract import schema_files
from hands_app.contract.binding import ToolBinding
from hands_app.contract.ids import new_id
from hands_app.contract.messages import (
    Cancel,
    Execute,
    ExecuteByReference,
    ExecutionResult,
    ExecutionState,
    Origin,
    Query,
    Update,
    UpdateKind,
)
from hands_app.contract.references import ObjectReference
from hands_app.contract.tools import tool
from hands_app.contract.wire import decode
from tests.covers import covers

if TYPE_CHECKING:
    from hands_app.contract.wire import Wire

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DIGEST = "sha256:" + "0" * 64


@tool(route="reports", effect="once", target="vault:mail", deadline=3)
def report(title: str, pages: int = 1) -> str:
    """Write a report."""
    return title * pages


def reference() -> ObjectReference:
    """Make a reference to nothing."""
    return ObjectReference(store=new_id("obs_"), scope=new_id("ses_"), digest=DIGEST, size=3)


def documents() -> dict[str, list[Wire]]:
    """Make documents of each kind."""
    origin = Origin(namespace="n", session_id="s", thread_id="t", turn_id=new_id("turn_"))
    execute = Execute.of(
        execution_id=new_id("exe_"),
        binding=report.binding,
        arguments={"title": "x"},
        origin=origin,
        not_after=NOW + timedelta(hours=1),
    )
    members = {name: getattr(execute, name) for name in Execute.model_fields}
    large = ExecuteByReference(**{**members, "version": "2", "arguments": reference()})
    control: dict[str, Any] = {
        "command_id": new_id("cmd_"),
        "namespace": "durable",
        "execution_id": execute.execution_id,
        "request_digest": execute.request_digest,
        "route": "reports",
    }
    told = {**control, "event_id": new_id("evt_"), "sequence": 3, "at": NOW}
    del told["command_id"]
    results = [
        ExecutionResult(state=ExecutionState.COMPLETED, content=[1, "two", None]),
        ExecutionResult(state=ExecutionState.COMPLETED, content={}, body=reference()),
    ]
    updates: list[Wire] = [
        Update.model_validate(
            {
                **told,
                "version": "1" if each.body is None else "2",
                "kind": UpdateKind.RESULT,
                "payload": each.to_json(),
            }
        )
        for each in results
    ]
    return {
        "binding": [report.binding, ToolBinding(name="t", parameters={})],
        "execute": [execute, large],
        "cancel": [Cancel(**control)],
        "query": [Query(**control, after=2)],
        "reference": [reference()],
        "result": [*results],
        "update": updates,
    }


@covers("R188", "R206")
@pytest.mark.parametrize("name", sorted(schema_files.DOCUMENTS))
def test_the_files_are_what_the_types_say(name: str) -> None:
    """R188, R206: `python -m hands_app schemas` was run after the last change of a type."""
    shipped = (schema_files.folder() / f"{name}.json").read_text(encoding="utf-8")

    assert shipped == schema_files.text_of(name), "run: python -m hands_app schemas"


def test_no_other_file_is_shipped() -> None:
    """A kind that is gone leaves no file that says otherwise."""
    shipped = {entry.name for entry in schema_files.folder().iterdir()}

    assert shipped == {f"{name}.json" for name in schema_files.DOCUMENTS}


@covers("R188")
@pytest.mark.parametrize("name", sorted(documents()))
def test_a_document_of_ours_fits_its_schema(name: str) -> None:
    """R188: whoever reads by the schema reads what is sent; with a stray member it does not fit."""
    schema = json.loads((schema_files.folder() / f"{name}.json").read_text(encoding="utf-8"))

    for document in documents()[name]:
        form: Any = document.to_json()
        assert faults(form, schema, schema) == []
        assert faults({**form, "stray": 1}, schema, schema) != []
        assert decode(type(document), json.dumps(form)) == document


def faults(value: Any, schema: Any, root: Any) -> list[str]:
    """What a document breaks of the part of JSON Schema that the files use."""
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        return faults(value, target, root)
    if "anyOf" in schema:
        tried = [faults(value, option, root) for option in schema["anyOf"]]
        return [] if [] in tried else tried[0]
    found = [] if _is_one(value, schema) else [f"{value!r} is none of {schema}"]
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        found.append(f"{value!r} has not the form {schema['pattern']}")
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        found += [f"{name} is missing" for name in schema.get("required", ()) if name not in value]
        if schema.get("additionalProperties") is False:
            found += [f"{name} is unknown" for name in value if name not in known]
        for name in value.keys() & known.keys():
            found += faults(value[name], known[name], root)
    return found


def _is_one(value: Any, schema: Any) -> bool:
    types: dict[str, type | tuple[type, ...]] = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
        "null": type(None),
    }
    of_type = "type" not in schema or isinstance(value, types[schema["type"]])
    listed = "enum" not in schema or value in schema["enum"]
    return of_type and listed and ("const" not in schema or value == schema["const"])
