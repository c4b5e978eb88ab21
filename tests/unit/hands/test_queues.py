"""Names of queues, and what a worker is for by the queues it takes from."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hands_app.celery import profile_of
from hands_app.contract import queues
from hands_app.contract.errors import Incompatible
from hands_app.settings import read_environment
from hands_app.transports.app import make_app
from hands_app.worker.ports import HostProfile
from tests.covers import covers

NAMESPACES = st.from_regex(queues.NAMESPACE, fullmatch=True)
ROUTES = st.from_regex(r"^[a-z][a-z0-9_-]{0,31}$", fullmatch=True)


@covers("R178", "R179")
def test_the_three_kinds_of_queue_have_derived_names() -> None:
    """R178, R179: namespace `durable` and route `hands` unless somebody says otherwise."""
    namespace, route = queues.DEFAULT_NAMESPACE, queues.DEFAULT_ROUTE

    assert queues.commands(namespace, route) == "durable.hands.commands"
    assert queues.controls(namespace, route) == "durable.hands.controls"
    assert queues.updates(namespace) == "durable.updates"


@covers("R179")
@settings(max_examples=30)
@given(NAMESPACES, NAMESPACES, ROUTES)
def test_a_name_is_read_back_by_its_own_deployment_alone(
    namespace: str, other: str, route: str
) -> None:
    """R179: two deployments on one broker never share a queue, whatever dots their names have."""
    names = [queues.commands(namespace, route), queues.controls(namespace, route)]

    assert [queues.pool_queue(namespace, name) for name in names] == [
        (route, "commands"),
        (route, "controls"),
    ]
    assert queues.pool_queue(namespace, queues.updates(namespace)) is None
    if other != namespace:
        assert [queues.pool_queue(other, name) for name in names] == [None, None]


@pytest.mark.parametrize("name", ["", "-x", "_x", "a b", "a/b", "x" * 65, "x\n"])
def test_a_name_that_cannot_be_a_namespace_is_refused(name: str) -> None:
    """A command of such a namespace could not be written down; better it shows at the start."""
    with pytest.raises(Incompatible, match="is no namespace"):
        queues.namespace_name(name)
    with pytest.raises(Incompatible, match="is no route"):
        queues.route_name(name)


@covers("R179", "R183")
@pytest.mark.parametrize(
    ("consumed", "profile"),
    [
        (["durable.hands.commands"], HostProfile("work", ("hands",), 3)),
        (["durable.hands.controls"], HostProfile("control", ("hands",), 3)),
        (["durable.gpu.commands", "durable.gpu.controls"], HostProfile("work", ("gpu",), 3)),
        (["durable.b.controls", "durable.a.controls"], HostProfile("control", ("a", "b"), 3)),
    ],
)
def test_its_queues_say_what_a_worker_is_for(consumed: list[str], profile: HostProfile) -> None:
    """R179: each capability pool has its own route and queues; the concurrency is its slots."""
    assert profile_of(consumed, 3) == profile


@pytest.mark.parametrize(
    "consumed",
    [
        ["celery"],
        ["durable.updates"],
        ["durable.hands.commands", "other.hands.commands"],
        ["durable.hands.commands", "durable.gpu.controls"],
    ],
)
def test_a_worker_on_a_strange_queue_does_not_start(consumed: list[str]) -> None:
    """It would take messages that it can only refuse, or claim work that it was not given."""
    with pytest.raises(Incompatible):
        profile_of(consumed, 1)


@covers("R182", "R183")
def test_polling_and_parallelism_have_defaults_and_can_be_set() -> None:
    """R182, R183: 100 ms and four at once; the environment says otherwise."""
    plain = read_environment({})
    told = read_environment({"DURABLE_HANDS_POLL_SECONDS": "0.5", "DURABLE_HANDS_SLOTS": "16"})

    assert (plain.poll_seconds, make_app(plain).conf.worker_concurrency) == (0.1, 4)
    assert (told.poll_seconds, make_app(told).conf.worker_concurrency) == (0.5, 16)


@pytest.mark.parametrize(
    "environment",
    [
        {"DURABLE_NAMESPACE": "a b"},
        {"DURABLE_HANDS_SLOTS": "0"},
        {"DURABLE_HANDS_SLOTS": "many"},
        {"DURABLE_HANDS_POLL_SECONDS": "nan"},
    ],
)
def test_a_name_or_number_that_means_nothing_is_refused(environment: dict[str, str]) -> None:
    """A misspelt figure must not become a default."""
    with pytest.raises(Incompatible):
        read_environment(environment)
