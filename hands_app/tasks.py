"""The two Celery tasks of a Hands process. Both only write to the ledger; tools run beside them.

Acknowledged late, after the commit (R184). What cannot be read or is forbidden is rejected and
not acknowledged (R192); what meets a ledger that is away goes back to its queue.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from celery import shared_task
from celery.exceptions import Reject

from hands_app import host
from hands_app.contract.errors import Rejected, Unavailable
from hands_app.worker.trouble import trouble

if TYPE_CHECKING:
    from collections.abc import Callable

_AGAIN_SECONDS: Final = 1.0


@shared_task(name="hands_app.execute", acks_late=True)
def execute(envelope: object = None, *_: object, **__: object) -> None:
    """Admit one execute command."""
    _obey(lambda: host.current().execute(_text(envelope)))


@shared_task(name="hands_app.control", acks_late=True)
def control(envelope: object = None, *_: object, **__: object) -> None:
    """Obey one cancel or query."""
    _obey(lambda: host.current().control(_text(envelope)))


def _text(envelope: object) -> str:
    """Return the envelope; whatever else came instead is no JSON text, and refused as such."""
    return envelope if isinstance(envelope, str) else ""


def _obey(command: Callable[[], None]) -> None:
    try:
        command()
    except Rejected as refusal:
        raise Reject(str(refusal), requeue=False) from None
    except Unavailable as away:
        time.sleep(_AGAIN_SECONDS)
        raise Reject(str(away), requeue=True) from None
    except Exception as error:  # noqa: BLE001 - outermost: Celery would log a foreign text
        raise Reject(trouble(error), requeue=False) from None
