"""The executor of a route whose tools run in a sidecar, as the settings describe it (R174)."""

from __future__ import annotations

from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from django.conf import settings

from hands_app.transports.token import token_for
from sessions_app.transports.http_delivery import HttpExecutor


class SidecarExecutor(HttpExecutor):
    """Finds its address in `DURABLE["HTTP_POOLS"]` and its token where the sidecar has it."""

    @classmethod
    def from_settings(cls, route: str) -> Self:
        """Make it; raises Incompatible without a token for an address on another machine."""
        url = settings.DURABLE["HTTP_POOLS"][route]
        host = urlsplit(url).hostname or ""
        return cls(url, token_for(host, Path(settings.DURABLE["STATE_DIR"])))
