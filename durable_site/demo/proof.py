"""What the demo proves, from what the provider, the oracle and the tables say. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from durable_site.demo.journal import End, Record


@dataclass(frozen=True)
class Facts:
    """What was found when the Turn had ended."""

    status: str
    takeovers: int
    requests: Sequence[Record]
    """Every request that the provider got."""
    model_calls: Sequence[str]
    """The status of every stored model call."""
    executions: Sequence[str]
    """The execution id of every tool call."""
    effects: Sequence[tuple[str, str]]
    """Tool and execution id of every effect that the oracle saw."""


@dataclass(frozen=True)
class Check:
    """One statement and whether it holds."""

    holds: bool
    words: str


def checks(facts: Facts) -> Iterator[Check]:
    """Give out every statement that the demo makes."""
    ends = Counter(record.end for record in facts.requests)
    stored = Counter(facts.model_calls)
    asked = ends[End.ANSWERED] + ends[End.LOST]
    outcomes = stored["COMPLETED"]
    yield Check(facts.status == "COMPLETED", f"the Turn is {facts.status}")
    yield Check(facts.takeovers == 1, f"takeovers: {facts.takeovers}")
    yield Check(
        asked == outcomes + 1,
        f"the provider was asked {asked} times for {outcomes} stored outcomes; the kill cost one",
    )
    yield Check(
        ends[End.LOST] == stored["LOST"] == 1,
        f"model calls that stand as LOST: {stored['LOST']}, lost at the provider: {ends[End.LOST]}",
    )
    yield Check(_none_asked_again(facts.requests), "no stored outcome was asked for again")
    yield _once_each(facts)


def _none_asked_again(requests: Sequence[Record]) -> bool:
    answered = Counter(repr(r.body) for r in requests if r.end is End.ANSWERED)
    return all(count == 1 for count in answered.values())


def _once_each(facts: Facts) -> Check:
    seen = Counter(key for _, key in facts.effects)
    holds = set(seen) == set(facts.executions) and all(count == 1 for count in seen.values())
    names = ", ".join(f"{tool} x {n}" for tool, n in Counter(t for t, _ in facts.effects).items())
    return Check(holds, f"the oracle saw each of {len(facts.executions)} tool calls once: {names}")
