"""Native state as files: one for each format that an adapter ever wrote stays in `fixtures` (C44).

A new format needs a new file. In the folder of the repository:

    python -c "from tests.unit.harnesses.recording import write; write('scripted', 2)"
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sessions_app.contract.backend import CallFacts, Entry, Frame
from sessions_app.contract.identity import DefinitionKey
from sessions_app.contract.status import CallState, CheckpointKind, EntryKind
from sessions_app.harnesses.scripted.model import Call, Reply
from tests.contracts.harness.bench import Bench
from tests.contracts.harness.kernels import KERNELS
from tests.contracts.harness.provider import Provider
from tests.doubles.memory_backend import MemoryTurn

FOLDER = Path(__file__).parent / "fixtures"
REPLIES = [
    Reply("", (Call("add", {"a": 2, "b": 3}),)),
    Reply("five"),
    Reply(
        "Let me see.", (Call("note", {"text": "x"}), Call("generate_report", {"title": "Errors"}))
    ),
    Reply("All done."),
]


def path(harness: str, number: int) -> Path:
    """Where the state of this format is kept."""
    return FOLDER / f"{harness}-{number}.json"


def write(harness: str, number: int) -> None:
    """Record a Thread in the midst of its second Turn: a note is taken, a report is awaited."""
    run = _bench(harness)

    async def drive() -> None:
        await run.complete("add")
        run.backend.submit("report")
        await run.survive()

    asyncio.run(drive())
    text = json.dumps(_recorded(run), indent=1, sort_keys=True)
    path(harness, number).write_text(text + "\n")


def read(harness: str, number: int) -> Bench:
    """A Thread in that state, before a process that runs today's code."""
    stored = json.loads(path(harness, number).read_text())
    run = _bench(harness)
    run.backend.entries = [_entry(entry) for entry in stored["entries"]]
    run.backend.frames = [_frame(stored["frame"])]
    turn = MemoryTurn(stored["turn"], stored["input"], rounds=stored["rounds"])
    turn.calls = {call["execution_id"]: _call(call) for call in stored["calls"]}
    run.backend.turns = [turn]
    return run


def _bench(harness: str) -> Bench:
    kernel = next(kernel for kernel in KERNELS if kernel.harness == harness)
    return Bench(kernel, Provider(REPLIES))


def _recorded(run: Bench) -> dict[str, Any]:
    return {
        "turn": run.turn.id,
        "input": run.turn.input,
        "rounds": run.turn.rounds,
        "entries": [asdict(entry) for entry in run.backend.entries],
        "frame": asdict(run.backend.frames[-1]),
        "calls": [asdict(call) for call in run.turn.calls.values()],
    }


def _entry(stored: dict[str, Any]) -> Entry:
    return Entry(**{**stored, "kind": EntryKind(stored["kind"])})


def _frame(stored: dict[str, Any]) -> Frame:
    kind, definition = CheckpointKind(stored["kind"]), DefinitionKey(**stored["definition"])
    return Frame(**{**stored, "kind": kind, "definition": definition})


def _call(stored: dict[str, Any]) -> CallFacts:
    return CallFacts(**{**stored, "state": CallState(stored["state"])})
