"""A site served over real HTTP: uvicorn on a port of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.integration.brain.brains import until

if TYPE_CHECKING:
    from tests.sites import Site

_READY = re.compile(r"Uvicorn running on (http://[\d.]+:\d+)")
_COMMAND = ("-m", "uvicorn", "durable_site.asgi:application", "--port", "0", "--no-access-log")


def serve(site: Site, **environment: str) -> str:
    """Start the web role and return its address once it answers."""
    process = site.start(_COMMAND, environment)
    found = until(lambda: _READY.search(site.log(process)))
    return str(found.group(1))
