"""An agent that does what the Turn's text says, word by word; what it says last is pure of that.

A tool's name calls that tool. `hold` is a model request that waits while the file `hold` is in the
folder, `flaky:<n>` one that fails once for each n; `fatal` fails for good.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from sessions_app.harnesses.scripted.model import Call, RefusedError, Reply, Script, Transcript
from sessions_app.registry import AgentBinding, agent
from tests.chaos.crew.tools import FOLDER, tools

_TOOLS = frozenset(tool.name for tool in tools)


def _words(transcript: Transcript) -> list[str]:
    """What is left to do of the newest text."""
    last = max(n for n, message in enumerate(transcript) if message["role"] == "user")
    words = str(transcript[last]["text"]).split()
    done = sum(message["role"] == "assistant" for message in transcript[last:])
    return words[done:]


def _reply(transcript: Transcript) -> Reply:
    words = _words(transcript)
    if words and words[0] in _TOOLS:
        return Reply(calls=(Call(words[0], {"word": f"{words[0]}-{len(words)}"}),))
    results = [str(m["content"]) for m in transcript if m["role"] == "tool"]
    return Reply("; ".join(["done", *results]))


async def _send(transcript: Transcript) -> None:
    word = next(iter(_words(transcript)), "")
    if word.startswith("flaky") and _is_first(word):
        raise ConnectionError
    if word == "fatal":
        message = "the script refuses"
        raise RefusedError(message)
    while word == "hold" and (FOLDER / "hold").exists():
        (FOLDER / "held").touch()
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 0.02)


def _is_first(word: str) -> bool:
    try:
        (FOLDER / f"seen-{word}").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


@agent("agent", version="1", harness="scripted", tools=tools)
def build(_binding: AgentBinding) -> Script:
    """Return the script of one invocation."""
    return Script(_reply, _send)
