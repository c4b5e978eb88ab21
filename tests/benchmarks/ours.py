"""Makes our engine, in a process that is no Django site yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from tests.benchmarks.durable import Durable


def make(mode: str) -> Durable:
    """Give the engine; in mode `hands` with a pool of Hands beside it."""
    django.setup()
    from tests.benchmarks.durable import Durable  # noqa: PLC0415 - its models need the line above

    return Durable("durable", mode)
