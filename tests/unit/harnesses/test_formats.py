"""Old histories meet new code: every format that was ever written is still read (C44)."""

from __future__ import annotations

import pytest

from sessions_app.harnesses import adapter, adapters
from tests.unit.harnesses.recording import FOLDER, path, read

WRITTEN = [tuple(file.stem.rsplit("-", 1)) for file in sorted(FOLDER.glob("*.json"))]


@pytest.mark.parametrize(("harness", "number"), WRITTEN)
async def test_a_turn_recorded_in_this_format_goes_on(harness: str, number: str) -> None:
    """The prompt holds the earlier Turn, the stored note and the report that came meanwhile."""
    run = read(harness, int(number))
    run.backend.deliver("generate_report", {"pages": 3})

    await run.survive()

    assert run.turn.result == {"parts": [{"type": "text", "text": "All done."}]}
    assert run.tools.ran == {}
    (prompt,) = run.provider.prompts
    assert [message.get("text") or message.get("content") for message in prompt] == [
        "add",
        None,
        5,
        "five",
        "report",
        "Let me see.",
        {"noted": "x"},
        {"pages": 3},
    ]


@pytest.mark.parametrize(("harness", "number"), WRITTEN)
def test_a_turn_recorded_in_this_format_can_be_settled(harness: str, number: str) -> None:
    """A host without agents can end it."""
    run = read(harness, int(number))

    entries, frame = adapter(harness).settle(run.backend.load(run.backend.claim()))

    assert len(entries) == 1
    assert frame is not None


@pytest.mark.parametrize("harness", sorted(adapters()))
def test_todays_format_is_on_record(harness: str) -> None:
    """Whoever changes a format adds a file and a migration."""
    assert path(harness, adapter(harness).format).exists()
