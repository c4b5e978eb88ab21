"""Django's handle on the demo."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from celery import signals
from django.apps import AppConfig
from django.conf import settings

if TYPE_CHECKING:
    from celery.apps.worker import Worker


class DemoConfig(AppConfig):
    """The app of the demo's agent and tools."""

    name = "durable_site.demo"
    label = "demo"
    verbose_name = "Demo"

    def ready(self) -> None:
        """Have Brains get ready for their first Turn while they start."""
        signals.worker_init.connect(_warm_up)


def _warm_up(sender: Worker, **_: object) -> None:
    """Import the model library now, not on the Brain's loop when a Turn already waits."""
    queue = f"{settings.DURABLE['NAMESPACE']}.brain"
    if queue in sender.app.amqp.queues.consume_from:
        import_module("pydantic_ai.models.openai")
