"""The web role: `uvicorn durable_site.asgi:application`."""

import os

from django.conf import settings
from django.core.asgi import get_asgi_application

from durable_site.databases import share_connections
from sessions_app.streaming.patience import patient

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable_site.settings")

share_connections(settings.DATABASES["default"], settings.DURABLE["WEB_CONNECTIONS"])

application = patient(get_asgi_application())
