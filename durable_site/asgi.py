"""The web role: `uvicorn durable_site.asgi:application`."""

import os

from django.conf import settings
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable_site.settings")

# Under ASGI each request runs on a thread of its own, so a persistent connection would outlive its
# only user: it is closed with the request instead.
settings.DATABASES["default"]["CONN_MAX_AGE"] = 0

application = get_asgi_application()
