"""How a worker takes messages that anybody with access to the broker may have written (T37).

Celery trusts the shape of a message: one that is JSON but no task ends its worker, goes back to the
queue and ends the next one. Here it is refused and dropped like any other invalid message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from celery import Task
from celery.exceptions import InvalidTaskError
from celery.worker.strategy import default
from kombu.exceptions import ContentDisallowed, DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from celery import Celery


class CarefulTask(Task):  # type: ignore[type-arg]  # generic in the stubs alone
    """The class of every task of an app, Celery's own included."""

    abstract = True
    Strategy = "hands_app.transports.careful:strategy"


def strategy(task: Any, app: Celery, consumer: Any, **options: Any) -> Callable[..., None]:  # noqa: ANN401 - Celery's own
    """Celery's way to take a message, with every error about its shape made a refusal of it."""
    take = default(task, app, consumer, **options)
    known = (InvalidTaskError, ContentDisallowed, DecodeError, *consumer.connection_errors)

    def take_carefully(message: Any, *given: Any) -> None:  # noqa: ANN401 - Celery's own
        try:
            take(message, *given)
        except known:
            raise
        except Exception as error:  # outermost: of reading what anybody may have sent
            text = f"a message that is no task: {type(error).__name__}"
            raise InvalidTaskError(text) from error

    return take_carefully
