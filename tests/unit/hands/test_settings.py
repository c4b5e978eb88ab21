"""What a Hands process reads from its environment, and what a worker is for."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from kombu import Connection

from hands_app.contract.errors import Incompatible
from hands_app.ledger.engine import normal_url
from hands_app.settings import read_environment
from hands_app.transports.broker import broker_configuration
from tests.covers import poses


def test_nothing_set_means_embedded() -> None:
    """ARCHITECTURE: SQLite and the folder broker in the state folder, the demo's tools if any."""
    found = read_environment({})

    assert found.state_dir.name == "var"
    assert found.ledger_url == f"sqlite:///{found.state_dir}/hands.sqlite3"
    assert (found.redis_url, found.namespace) == ("", "durable")
    assert found.tools == ("durable_site.demo.tools" if find_spec("durable_site") else "")


def test_production_brings_no_demo() -> None:
    """Nobody wants the demo's tools in production."""
    assert read_environment({"DURABLE_MODE": "production"}).tools == ""


@pytest.mark.parametrize(
    "environment",
    [{"DURABLE_MODE": "fast"}, {"DURABLE_LEASE_SECONDS": "soon"}, {"DURABLE_DRAIN_SECONDS": "-1"}],
)
def test_a_value_that_means_nothing_is_refused(environment: dict[str, str]) -> None:
    """A misspelt figure must not become a default."""
    with pytest.raises(Incompatible):
        read_environment(environment)


@pytest.mark.parametrize(
    ("url", "driver"),
    [
        ("sqlite:////tmp/a b/hands.sqlite3", "sqlite+pysqlite"),
        ("postgres://u@h/d", "postgresql+psycopg"),
        ("postgresql://u@h/d", "postgresql+psycopg"),
        ("postgresql+psycopg://u@h/d", "postgresql+psycopg"),
    ],
)
def test_every_usual_url_finds_its_driver(url: str, driver: str) -> None:
    """The URL of a Django project may be handed on as it is."""
    assert normal_url(url).drivername == driver


def test_another_database_is_refused() -> None:
    """The ledger's rules are proven on two databases only."""
    with pytest.raises(ValueError, match="SQLite or PostgreSQL"):
        normal_url("mysql://u@h/d")


def test_the_folder_broker_is_private(tmp_path: Path) -> None:
    """Messages hold arguments; only their owner may read the folder."""
    options = broker_configuration("", tmp_path)["broker_transport_options"]

    assert Path(options["data_folder_in"]).stat().st_mode & 0o077 == 0
    assert options["data_folder_in"] == options["data_folder_out"]


def test_a_folder_has_no_host_to_warn_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Every command that sends a hint would say that it reverts to localhost."""
    options = broker_configuration("", tmp_path)

    Connection(options["broker_url"], transport=options["broker_transport"]).info()

    assert caplog.text == ""


@poses("S15")
def test_a_silent_redis_is_given_up_within_a_second(tmp_path: Path) -> None:
    """S15: sockets of the broker have bounds."""
    options = broker_configuration("redis://h/0", tmp_path)["broker_transport_options"]

    assert options["socket_timeout"] <= 1
    assert options["socket_connect_timeout"] <= 1
