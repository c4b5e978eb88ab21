"""A thread that does one step again and again until it is told to stop."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from hands_app.contract.errors import Unavailable
from hands_app.worker.trouble import trouble

if TYPE_CHECKING:
    from collections.abc import Callable

_log = logging.getLogger(__name__)


class Rhythm:
    """Calls `step` every `seconds`, at once after `wake`; errors are logged and do not stop it."""

    def __init__(self, name: str, step: Callable[[], object], seconds: float) -> None:
        self._step = step
        self._seconds = seconds
        self._stopping = False
        self._awake = threading.Event()
        self._is_quiet = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin; the first step comes at once."""
        self._thread.start()

    def wake(self) -> None:
        """Take the next step now."""
        self._awake.set()

    def stop(self, seconds: float = 5) -> bool:
        """Take no further step; wait so long for the current one, and say whether it ended.

        Safe from within a step.
        """
        self._stopping = True
        self._awake.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping:
            self._awake.clear()
            self._take_step()
            if not self._stopping:
                self._awake.wait(self._seconds)

    def _take_step(self) -> None:
        try:
            self._step()
        except Unavailable as error:
            if not self._is_quiet:
                _log.warning("%s waits: %s", self._thread.name, error)
            self._is_quiet = True
        except Exception as error:  # noqa: BLE001 - the outermost frame of the thread
            text = "%s failed and goes on: %s"
            _log.error(text, self._thread.name, trouble(error))
        else:
            self._is_quiet = False
