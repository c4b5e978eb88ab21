"""Intents: permission first, then intent and checkpoint in one commit (R142)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.status import EntryKind
from sessions_app.harnesses.scripted.model import Call, Reply
from tests.contracts.harness.bench import Bench
from tests.contracts.harness.provider import Provider
from tests.covers import covers

if TYPE_CHECKING:
    from sessions_app.contract.backend import Claim, Commit, CommitAnswer
    from tests.contracts.harness.kernels import Kernel

ALLOWED = Call("add", {"a": 1, "b": 2})


def watched(run: Bench) -> list[Commit]:
    """Every change that the Brain asks of the store, from now on."""
    changes: list[Commit] = []
    commit = run.backend.commit

    def noted(claim: Claim, change: Commit) -> CommitAnswer:
        changes.append(change)
        return commit(claim, change)

    run.backend.commit = noted  # type: ignore[method-assign]  # one object of the test's own
    return changes


@covers("R142")
@pytest.mark.parametrize(
    "refused",
    [Call("no_such_tool"), Call("ADD", {"a": 1, "b": 2}), Call("add", {"a": "x", "b": 2})],
    ids=["unknown", "look-alike", "arguments"],
)
async def test_what_the_kernel_refuses_leaves_no_intent(kernel: Kernel, refused: Call) -> None:
    """The kernel's own check comes before anything is stored; the model reads why."""
    run = Bench(kernel, Provider([Reply("", (refused, ALLOWED)), Reply("done")]))
    changes = watched(run)

    turn = await run.complete()

    intents = [intent.name for change in changes for intent in change.intents]
    assert intents == ["add"]
    assert len(turn.calls) == 1
    results = [said for said in run.provider.prompts[-1] if said["role"] == "tool"]
    assert len(results) == 2 or kernel.harness == "pydantic_ai"  # a retry prompt there
    assert run.tools.ran == {"add": 1}


@covers("R142")
async def test_an_intent_stands_with_the_checkpoint_that_knows_it(kernel: Kernel) -> None:
    """One commit holds the reply, the intents it led to and the frame that contains both."""
    run = Bench(kernel, Provider([Reply("", (ALLOWED,)), Reply("done")]))
    changes = watched(run)

    await run.complete()

    (intending,) = [change for change in changes if change.intents]
    assert intending.frame is not None
    assert [entry.ordinal for entry in intending.entries if entry.kind is EntryKind.OUTCOME] == [1]
    assert not any(change.results for change in changes[: changes.index(intending)])
