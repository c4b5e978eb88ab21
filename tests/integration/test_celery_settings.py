"""Messages are hints: JSON, never stored, each to its queue; a stale request for a scan dies."""

from pathlib import Path

from celery.backends.base import DisabledBackend
from kombu import Connection

from durable_site.celery import app
from durable_site.embedded.roles import beat
from hands_app.transports.app import make_app
from hands_app.transports.broker import broker_configuration
from hands_app.worker.configuration import Configuration
from tests.covers import covers
from tests.sites import Site


def test_nothing_but_json_travels() -> None:
    """No process reads or writes a message in another form."""
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_serializer == "json"


def test_no_result_is_stored() -> None:
    """There is no result backend to fill, to wait on or to leak from."""
    assert isinstance(app.backend, DisabledBackend)
    assert app.conf.task_ignore_result


def test_each_task_has_its_queue() -> None:
    """A role takes only what belongs to it; controls share no queue with work."""
    routes = {name: route["queue"] for name, route in app.conf.task_routes.items()}

    assert routes == {
        "sessions_app.advance": "durable.brain",
        "sessions_app.scan": "durable.brain",
        "sessions_app.prune": "durable.brain",
        "sessions_app.receive": "durable.updates",
        "hands_app.execute": "durable.hands.commands",
        "hands_app.control": "durable.hands.controls",
    }


def test_beat_asks_for_scans_that_expire(fresh_site: Site) -> None:
    """A request that nobody read in time is dropped by whoever reads it, so none pile up."""
    fresh_site.start(beat())

    broker = broker_configuration(fresh_site.environment["REDIS_URL"], fresh_site.state_dir)
    with Connection(
        broker["broker_url"],
        transport=broker.get("broker_transport"),
        transport_options=broker["broker_transport_options"],
    ) as link:
        message = link.SimpleQueue("durable.brain").get(timeout=30)

    assert message.headers["task"] == "sessions_app.scan"
    assert message.headers["expires"] is not None
    assert message.headers["eta"] is None


@covers("R180")
def test_whoever_sends_declares_what_whoever_takes_declares(state_dir: Path) -> None:
    """R180: a broker refuses a queue that two sides declare differently; ours never do."""
    hands = make_app(Configuration(state_dir, "sqlite://"))
    names = ("durable.hands.commands", "durable.hands.controls", "durable.updates")

    for name in names:
        theirs = hands.amqp.queues[name].as_dict(recurse=True)
        assert app.amqp.queues[name].as_dict(recurse=True) == theirs
