"""What the operating system lets a Hands process have; a bound of its own, not a sandbox (R196)."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING, Final

from hands_app.contract.errors import Incompatible

if TYPE_CHECKING:
    from hands_app.worker.configuration import Configuration

_NONE: Final = 0


def confine(configuration: Configuration) -> None:
    """Bound the memory and the open files of this process from here on.

    A tool that wants more gets MemoryError or OSError, an exception like any other (R209). Bounds
    are for the whole process, so give tools that may reach them a prefork pool.

    Raises:
        Incompatible: the system refuses the bound.
    """
    for name, kind, wanted in (
        ("memory", resource.RLIMIT_DATA, configuration.memory_bytes),
        ("open files", resource.RLIMIT_NOFILE, configuration.open_files),
    ):
        if wanted != _NONE:
            _bound(name, kind, wanted)


def _bound(name: str, kind: int, wanted: int) -> None:
    _, most = resource.getrlimit(kind)
    soft = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    try:
        resource.setrlimit(kind, (soft, most))
    except (OSError, ValueError) as error:
        message = f"the system refuses a bound of {wanted} for {name}"
        raise Incompatible(message) from error
