"""Assembly of the house: settings, the Celery app, addresses, the embedded system, the demo."""

from durable_site.celery import app as celery_app

__all__ = ("celery_app",)
