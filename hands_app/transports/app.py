"""The Celery app of a Hands process: JSON only, nothing stored, delayed or retried by Celery."""

from __future__ import annotations

from typing import TYPE_CHECKING

from celery import Celery

from hands_app.contract import queues
from hands_app.transports.broker import broker_configuration

if TYPE_CHECKING:
    from hands_app.worker.configuration import Configuration


def make_app(configuration: Configuration) -> Celery:
    """Return an app with the tasks of Hands; it works while the broker is down."""
    task_cls = "hands_app.transports.careful:CarefulTask"
    app = Celery("hands_app", task_cls=task_cls, include=["hands_app.tasks"])
    app.conf.update(
        broker_configuration(
            configuration.redis_url, configuration.state_dir, configuration.rabbitmq_url
        ),
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_channel_error_retry=True,  # a full Redis refuses a worker too (C5)
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_publish_retry=False,
        worker_prefetch_multiplier=1,
        timezone="UTC",
        enable_utc=True,
        worker_concurrency=configuration.slots,
        task_default_queue=queues.commands(configuration.namespace, queues.DEFAULT_ROUTE),
    )
    return app
