"""What one running tool tells of itself: signs of life and output; never a reason to fail.

A thread of their own brings both to the ledger, so that no tool and no event loop waits for it. It
is made with the first report. Only the first output of an attempt is waited for, off the loop: once
it is on record, a death of the worker leaves a gap instead of nothing.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Final

from hands_app.contract.errors import InvalidJson, Unavailable
from hands_app.contract.strict_json import JsonValue, Limits, canonical, clean
from hands_app.machine.execution import Refusal
from hands_app.worker.recording import Recorder
from hands_app.worker.trouble import trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hands_app.contract.messages import Update
    from hands_app.machine.execution import Execution
    from hands_app.worker.ports import Answer, Claim, Work

_PROGRESS_SECONDS: Final = 0.25
_AGAIN_SECONDS: Final = 1.0
_SIZE: Final = Limits(bytes=16 * 1024, depth=20, keys=500)
_MESSAGE: Final = 2000
_log = logging.getLogger(__name__)


class Reports:
    """`progress` and `write` are what a tool's context calls, from any thread; `finish` ends it."""

    def __init__(
        self,
        work: Work,
        claim: Claim,
        *,
        tell: Callable[[Sequence[Update]], None],
        most: int,
    ) -> None:
        """`most`: how many bytes the ledger keeps of the execution, over all attempts."""
        self._work = work
        self._claim = claim
        self._tell = tell
        self._output = Recorder(claim.output_bytes, most)
        self._progress: dict[str, JsonValue] | None = None
        self._progress_at = 0.0
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._recorded = threading.Event()
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def progress(self, payload: dict[str, JsonValue]) -> None:
        """Tell a sign of life; of those that come too fast only the newest is told."""
        with self._lock:
            if not self._is_closed:
                self._progress = payload
                self._go()

    def write(self, data: bytes) -> None:
        """Add output."""
        with self._lock:
            if self._is_closed or not data:
                return
            is_first = self._output.add(data)
            self._go()
        if is_first and not _is_on_a_loop():
            self._recorded.wait(_AGAIN_SECONDS)

    def finish(
        self, record: Callable[[Callable[[], Answer]], Execution | Refusal], *, runs_on: bool
    ) -> None:
        """Record what is left, by `record`, before the end of the attempt is; then take no more.

        `runs_on`: the tool missed its deadline and goes on, so what it writes later is lost.
        """
        with self._lock:
            self._is_closed = True
            thread = self._thread
        if thread is None:
            return
        self._changed.set()
        thread.join()
        if self._progress is not None:
            record(partial(self._work.progress, self._claim, _fit(self._progress)))
        while (written := self._output.rest(runs_on=runs_on)) is not None:
            if isinstance(record(partial(self._work.output, self._claim, written)), Refusal):
                return
            self._output.recorded(written)

    def _go(self) -> None:
        """Wake the thread; under the lock."""
        if self._thread is None:
            name = f"reports-{self._claim.execution_id}"
            self._thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._thread.start()
        self._changed.set()

    def _run(self) -> None:
        pause: float | None = 0.0
        while True:
            self._changed.wait(pause)
            self._changed.clear()
            if self._is_closed:
                return
            try:
                pause = self._step(time.monotonic())
            except Unavailable as error:
                _log.warning("%s cannot report: %s", self._claim.execution_id, error)
                self._recorded.set()
                pause = _AGAIN_SECONDS
            except Exception as error:  # noqa: BLE001 - the outermost frame of the thread
                text = "%s reports no more: %s"
                _log.error(text, self._claim.execution_id, trouble(error))
                self._refuse()
                return

    def _step(self, now: float) -> float | None:
        """Bring what is due to the ledger; gives the seconds until something is due again."""
        with self._lock:
            payload = self._progress if now >= self._progress_at else None
            if payload is not None:
                self._progress, self._progress_at = None, now + _PROGRESS_SECONDS
            written = self._output.due(now)
        if payload is not None:
            self._record(self._work.progress(self._claim, _fit(payload)))
        if written is not None and self._record(self._work.output(self._claim, written)):
            with self._lock:
                self._output.recorded(written)
            self._recorded.set()
        with self._lock:
            waits = [self._progress_at] if self._progress is not None else []
            waits += self._output.next_at()
        return max(0.0, min(waits) - time.monotonic()) if waits else None

    def _record(self, told: Answer) -> bool:
        self._tell(told.updates)
        if isinstance(told.outcome, Refusal):
            self._refuse()
            return False
        return True

    def _refuse(self) -> None:
        """Keep nothing any more: the attempt is another's, or over."""
        with self._lock:
            self._is_closed = True
            self._progress = None
            self._output.drop()
        self._recorded.set()


def _is_on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _fit(payload: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the payload, or only its message where the whole is too large or no JSON."""
    try:
        cleaned = clean(payload, limits=_SIZE).value
        canonical(cleaned, limits=_SIZE)
    except InvalidJson:
        return {"message": clean(str(payload.get("message"))[:_MESSAGE]).value}
    return cleaned if isinstance(cleaned, dict) else {}
