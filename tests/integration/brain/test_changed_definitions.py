"""An agent that changes under its version label: refused at start-up, or told so at the claim."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from sessions_app.contract.identity import DefinitionKey
from sessions_app.contract.status import WaitReason
from sessions_app.harnesses.scripted.model import Reply, Script
from sessions_app.models import Host, Thread, Turn
from sessions_app.registry import Definition, Registry
from sessions_app.store import admission
from tests.contracts.harness.toolbox import Toolbox
from tests.covers import covers, poses
from tests.integration.brain.brains import HELLO, until
from tests.stores import AGENT

if TYPE_CHECKING:
    import pytest

    from tests.integration.brain.brains import Brains


def changed(brains: Brains) -> None:
    """Have the next process know the agent with other tools under the same label."""
    brains.registry = Registry()
    brains.agent(HELLO, Toolbox().add())


@poses("C39")
def test_the_same_label_with_other_content_is_refused_at_start_up(
    brains: Brains, caplog: pytest.LogCaptureFixture
) -> None:
    """An open Thread began with the old content: the process claims nothing and says why."""
    first = brains.store.submit(brains.store.session())
    brains.start()
    brains.ended(first)
    changed(brains)

    with caplog.at_level(logging.ERROR):
        newcomer = brains.begin()
        until(lambda: "was refused and claims nothing" in caplog.text)

    assert "register it under a new version" in caplog.text
    assert not Host.objects.filter(pk=newcomer.host.host_id).exists()


@poses("C39")
def test_a_label_that_no_open_thread_stands_for_is_free(brains: Brains) -> None:
    """Nobody relies on the old content any more."""
    key = brains.store.session()
    first = brains.store.submit(key)
    brains.start()
    brains.ended(first)
    admission.close_session(key)
    changed(brains)

    brains.start()

    second = brains.store.submit(brains.store.session("later"))
    assert brains.ended(second).failures == 0


@poses("C39")
def test_changed_content_is_taken_where_the_operator_says_so(brains: Brains) -> None:
    """Nothing is compared, and the old Thread runs with what is there."""
    key = brains.store.session()
    first = brains.store.submit(key)
    former = brains.start()
    brains.ended(first)
    former.drain(1)
    changed(brains)

    brains.start(accepts_changes=True)

    assert brains.ended(brains.store.submit(key, "r2")).failures == 0


@poses("C39")
@covers("R162")
def test_a_host_with_other_content_leaves_the_thread_alone(brains: Brains) -> None:
    """Both began before there was anything to compare; it gives back what is not its own."""
    changed(brains)
    brains.start(slots=1)
    until(Host.objects.exists)
    key = brains.store.session()
    Thread.objects.update(definition_digest="sha256:other")

    turn_id = brains.store.submit(key)

    until(lambda: Turn.objects.filter(pk=turn_id, reason=WaitReason.INCOMPATIBLE).exists())
    assert Turn.objects.get(pk=turn_id).failures == 0
    assert "has other content here" in str(Thread.objects.get().incompatible_reason)


@poses("C39")
def test_a_new_label_takes_new_threads_and_leaves_old_ones_pinned(brains: Brains) -> None:
    """Side by side nothing is refused, and each Thread is answered by its own version."""
    old = brains.store.session()
    first = brains.store.submit(old)
    brains.start()
    brains.ended(first)
    label = DefinitionKey(AGENT.name, "2")
    brains.registry.add(Definition(label, "scripted", lambda _binding: Script((Reply("two"),))))

    brains.start()

    again = brains.ended(brains.store.submit(old, "r2"))
    assert again.result == {"parts": [{"type": "text", "text": "hello"}]}
    assert Thread.objects.get().version == "1"
