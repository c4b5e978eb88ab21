"""How a process reaches the broker: RabbitMQ or Redis where there is one, else a folder here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hands_app.contract.errors import Incompatible
from hands_app.transports import lost_redis  # noqa: F401 - listens for the start of a worker

if TYPE_CHECKING:
    from pathlib import Path

    from hands_app.worker.configuration import Configuration

SEND_SECONDS: Final = 1.0
"""Longest wait for a broker that is down or silent; the outbox keeps what it did not take."""

_POLL_SECONDS: Final = 0.02


def broker_configuration(redis_url: str, state_dir: Path, rabbitmq_url: str = "") -> dict[str, Any]:
    """Return Celery's settings of the broker: RabbitMQ before Redis, without both a folder."""
    if rabbitmq_url:
        return {
            "broker_url": rabbitmq_url,
            "broker_connection_timeout": SEND_SECONDS,
            # A message counts as sent once the broker says so. Readers wait as long as they like.
            "broker_transport_options": {"confirm_publish": True, "write_timeout": SEND_SECONDS},
        }
    if redis_url:
        return {
            "broker_url": redis_url,
            "broker_connection_timeout": SEND_SECONDS,
            "broker_transport_options": {
                "socket_timeout": SEND_SECONDS,
                "socket_connect_timeout": SEND_SECONDS,
                "socket_keepalive": True,
                "max_retries": 0,
            },
        }
    return {
        "broker_url": "filesystem://",
        "broker_transport": "hands_app.transports.folder_broker:Transport",
        "broker_connection_timeout": SEND_SECONDS,
        "broker_transport_options": _folder(state_dir / "broker"),
        "worker_enable_remote_control": False,
        "worker_send_task_events": False,
    }


def see_that_children_get_messages(configuration: Configuration) -> None:
    """Refuse a pool of forked children on the folder broker (S22).

    Celery cannot wait for a folder, so it hands out work by one pipe that all children share: one
    that is killed while it reads takes the pipe's lock along, and the others wait for ever.

    Raises:
        Incompatible: there is neither Redis nor RabbitMQ.
    """
    if not configuration.rabbitmq_url and not configuration.redis_url:
        message = (
            "a prefork pool (Celery's default) needs Redis or RabbitMQ, and this worker has the "
            "folder broker: start it with --pool threads, or set REDIS_URL or RABBITMQ_URL"
        )
        raise Incompatible(message)


def _folder(folder: Path) -> dict[str, Any]:
    messages, control = folder / "messages", folder / "control"
    for each in (messages, control):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    return {
        "data_folder_in": str(messages),
        "data_folder_out": str(messages),
        "control_folder": str(control),
        "store_processed": False,
        "polling_interval": _POLL_SECONDS,
    }
