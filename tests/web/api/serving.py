"""A site served over real HTTP: uvicorn on a port of its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tests.integration.brain.brains import until

if TYPE_CHECKING:
    from tests.sites import Site

_READY = re.compile(r"Uvicorn running on (http://[\d.]+:\d+)")
CHECKOUT = Path(__file__).parents[3]
_PORT = "${PORT:-8000}"


def _command() -> tuple[str, ...]:
    """The line of the Procfile, on any free port."""
    lines = (CHECKOUT / "Procfile").read_text().splitlines()
    role = next(line for line in lines if line.startswith("web: "))
    return ("-m", *role.removeprefix("web: ").replace(_PORT, "0").split(), "--no-access-log")


def serve(site: Site, **environment: str) -> str:
    """Start the web role and return its address once it answers."""
    process = site.start(_command(), environment)
    found = until(lambda: _READY.search(site.log(process)))
    return str(found.group(1))
