"""An agent that does what the Turn's text says, word by word, and notes what really happened.

`note` and `once` are local tools; `hold` is a model request that waits while the file `hold` is in
the folder. Each request and each effect is one line of the file `oracle`.
"""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import suppress
from pathlib import Path

from hands_app.contract.tools import tool
from sessions_app.harnesses.scripted.model import Call, Reply, Script, Transcript
from sessions_app.registry import AgentBinding, agent

FOLDER = Path(os.environ.get("AGENCY_FOLDER", "."))
_TOOLS = frozenset({"note", "once", "slow"})


def say(what: str) -> None:
    """Add one whole line, whoever else writes."""
    with (FOLDER / "oracle").open("ab", buffering=0) as oracle:
        oracle.write(f"{what} {os.getpid()}\n".encode())


@tool(effect="idempotent")
def note(word: str) -> str:
    """Leave a note."""
    say(f"note:{word}")
    return word


@tool(effect="once")
def once(word: str) -> str:
    """Do something that must not be repeated."""
    say(f"once:{word}")
    return word


@tool(effect="once")
def slow(word: str) -> str:
    """Work for as long as the file `slow` is there."""
    say(f"slow:{word}")
    while (FOLDER / "slow").exists():
        threading.Event().wait(0.02)
    say(f"slow-done:{word}")
    return word


def _words(transcript: Transcript) -> list[str]:
    last = max(n for n, message in enumerate(transcript) if message["role"] == "user")
    words = str(transcript[last]["text"]).split()
    done = sum(message["role"] == "assistant" for message in transcript[last:])
    return words[done:]


def _reply(transcript: Transcript) -> Reply:
    words = _words(transcript)
    if not words:
        return Reply("done")
    if words[0] in _TOOLS:
        return Reply(calls=(Call(words[0], {"word": str(len(words))}),))
    return Reply("done")


async def _send(transcript: Transcript) -> None:
    words = _words(transcript)
    say(f"model:{len(words)}")
    while words[:1] == ["hold"] and (FOLDER / "hold").exists():
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 0.02)


@agent("agent", version="1", harness="scripted", tools=[note, once, slow])
def build(_binding: AgentBinding) -> Script:
    """Return the script of one invocation."""
    return Script(_reply, _send)
