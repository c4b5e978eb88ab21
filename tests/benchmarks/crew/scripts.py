"""What our one agent does: the first word of the Turn's text names the workload."""

from __future__ import annotations

from typing import Any, Final

from hands_app.contract.tools import tool
from sessions_app.harnesses.scripted.model import Call, Reply, Transcript
from tests.benchmarks import effects
from tests.benchmarks.loads import MODEL_REPLY, SLOW_STEPS, STEPS, TOOL_REPLY, Stamps, slow_step

TEXT: Final = str(MODEL_REPLY["content"])
_CALLS: Final = {
    "turn": 1,
    "turns": 3,
    "long": STEPS // 2,
    "slow": SLOW_STEPS,
    "hands": 1,
    "signal": 1,
}
_TOOLS: Final = {
    "turn": "lookup",
    "turns": "lookup",
    "long": "read",
    "slow": "work",
    "hands": "remote",
    "signal": "go",
}
SIGNAL: Final = "x.bench.go"
_stamps: dict[str, Stamps] = {}


@tool(effect="once")
def lookup(word: str) -> dict[str, Any]:
    """Answer at once, shortly."""
    return TOOL_REPLY


@tool(effect="once")
def read(key: str) -> str:
    """Answer at once with 1 KB, as one of many steps."""
    _stamps[key].step()
    return TEXT


@tool(effect="idempotent")
def work(key: str, number: int) -> int:
    """Take 100 ms and leave a trace."""
    return slow_step(key, number)


@tool(effect="once", route="hands")
def remote(word: str) -> dict[str, Any]:
    """Answer at once, in another process."""
    return TOOL_REPLY


@tool(effect="once", route="signal", target=SIGNAL)
def go() -> str:
    """Wait for the signal."""
    raise AssertionError  # a signal is its result: run here it is a bug


def reply(transcript: Transcript) -> Reply:
    """Ask for the workload's tool as often as it says, then answer."""
    kind, key, asked = _place(transcript)
    if asked == _CALLS[kind]:
        return Reply(TEXT)
    name = _TOOLS[kind]
    given = {"work": {"key": key, "number": asked}, "read": {"key": key}, "go": {}}
    return Reply(TEXT, (Call(name, given.get(name, {"word": "here"})),))


async def send(transcript: Transcript) -> None:
    """Note what is measured from outside: the steps of a long Turn, and the end of a wait."""
    kind, key, asked = _place(transcript)
    if kind == "signal" and asked:
        effects.note("resumed", key)
    if kind != "long":
        return
    # A request is a step as a tool is.
    stamps = _stamps.setdefault(key, Stamps(key))
    stamps.step()
    if asked == _CALLS[kind]:
        stamps.done()


def _place(transcript: Transcript) -> tuple[str, str, int]:
    """Workload, key, and how many replies this Turn has had."""
    asked = max(n for n, message in enumerate(transcript) if message["role"] == "user")
    kind, _, key = str(transcript[asked]["text"]).partition(" ")
    return kind, key, sum(message["role"] == "assistant" for message in transcript[asked:])


TOOLS: Final = (lookup, read, work, remote, go)
