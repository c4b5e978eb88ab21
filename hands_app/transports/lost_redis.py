"""How a worker lets go of a Redis that went away while a message was not yet acknowledged.

kombu acknowledges such messages and puts them back over the connection that it has just given up,
and the error of that ends the worker. They need no hand: Redis keeps them and offers them again in
time, as after a crash, and none of them carries truth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from celery import signals

if TYPE_CHECKING:
    from celery.worker import WorkController


@signals.worker_init.connect
def _prepare(sender: WorkController, **_: object) -> None:
    if str(sender.app.conf.broker_url).startswith("redis"):
        close_without_connection()


def close_without_connection() -> None:
    """Have channels of this process close whether or not Redis is there."""
    from kombu.transport import redis  # noqa: PLC0415 - costs 0.3 s; workers with Redis only

    class QoS(redis.QoS):
        """What a channel has delivered and not seen acknowledged; left to Redis once it is lost."""

        @property
        def is_lost(self) -> bool:
            """Whether the channel's connection was given up."""
            return getattr(self.channel.connection, "client", None) is None

        def restore_unacked(self, client: object = None) -> None:
            """Put everything back."""
            if not self.is_lost:
                super().restore_unacked(client)

        def ack(self, delivery_tag: str) -> None:
            """Say that a message needs no second delivery."""
            if not self.is_lost:
                super().ack(delivery_tag)

        def reject(self, delivery_tag: str, requeue: bool = False) -> None:  # noqa: FBT001, FBT002 - kombu's own
            """Say that a message was refused."""
            if not self.is_lost:
                super().reject(delivery_tag, requeue)

    redis.Channel.QoS = QoS
