"""The main job as a person sees it: `make demo`, with real processes and a real kill."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from durable_site.demo.provider import ScriptedProvider
from durable_site.embedded.roles import CHECKOUT
from tests.acceptance.processes import living_with
from tests.covers import covers

COMMAND = [sys.executable, "manage.py", "durable_demo"]
LAST_LINE = re.compile(r"demo: turn_\w+ COMPLETED, takeovers=1, recovered in (\d+\.\d+) s")

pytestmark = [pytest.mark.sqlite, pytest.mark.timeout(300)]


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    """An own place, with a space in its path, for everything temporary."""
    folder = tmp_path / "a place"
    folder.mkdir()
    return folder


def demo(temporary: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the demo to its end, as `make` does."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("DURABLE_", "OPENAI_"))}
    return subprocess.run(
        COMMAND,
        cwd=CHECKOUT,
        env={**clean, "TMPDIR": str(temporary), **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@covers("R005")
def test_a_turn_survives_the_death_of_its_brain(temporary: Path) -> None:
    """R005, law 6: one Turn, one result, one LOST model call, every tool once, nothing left."""
    done = demo(temporary, OPENAI_API_KEY="never used")

    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    *told, last = done.stdout.splitlines()
    recovered = LAST_LINE.fullmatch(last)
    assert recovered is not None, last
    assert float(recovered[1]) < 2.0
    assert "the provider was asked 4 times for 3 stored outcomes" in done.stdout
    assert "count_errors x 1, write_report x 1" in done.stdout
    assert not [line for line in told if "✗" in line or "\x1b" in line]
    assert living_with(str(temporary)) == []
    assert list(temporary.iterdir()) == []


def test_a_named_model_takes_the_same_path(temporary: Path) -> None:
    """A real provider's place is taken by the scripted one, reached by the library's own names."""
    with ScriptedProvider() as real:
        done = demo(
            temporary,
            DURABLE_DEMO_MODEL="openai-chat:scripted",
            OPENAI_BASE_URL=real.base_url,
            OPENAI_API_KEY="some key",
        )

    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert LAST_LINE.fullmatch(done.stdout.splitlines()[-1])
    assert len(real.journal.records()) == 4
    assert list(temporary.iterdir()) == []


def test_a_demo_that_cannot_begin_says_why(temporary: Path) -> None:
    """A real model without its key: a reason, an exit status, and nothing left."""
    done = demo(temporary, DURABLE_DEMO_MODEL="openai:gpt-5")

    assert done.returncode != 0
    assert "demo: failed: the model openai:gpt-5 needs its key in OPENAI_API_KEY" in done.stderr
    assert list(temporary.iterdir()) == []
