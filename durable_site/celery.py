"""The Celery app of the Brain house: `celery -A durable_site worker`."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable_site.settings")

app = Celery("durable_site", task_cls="hands_app.transports.careful:CarefulTask")
app.config_from_object("durable_site.celery_settings")
app.autodiscover_tasks()
