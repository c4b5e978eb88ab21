"""One model request as the Brain sees it: what was asked, what is known of what became of it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from sessions_app.brain.failure import judge
from sessions_app.contract.backend import EntryDraft
from sessions_app.contract.status import EntryKind

if TYPE_CHECKING:
    from sessions_app.contract.backend import ModelCallFacts
    from sessions_app.ports import Attempts, ModelOutcome

ABANDONED: Final = "ABANDONED"
_UNHEARD: Final = frozenset({ABANDONED, "TIMEOUT", "IO_ERROR"})


@dataclass(frozen=True, slots=True)
class Request:
    """A request from the moment on at which it is sent (R064)."""

    asked: ModelCallFacts
    attempts: Attempts | None
    began: float = field(default_factory=time.monotonic)

    def answered(self, outcome: ModelOutcome) -> ModelCallFacts:
        """The adapter's facts under the identity that we gave the request."""
        asked, seen = self.asked, outcome.facts
        taken = seen.duration_ms if seen.duration_ms is not None else self._since()
        ours = asked.model_dump(include={"path", "ordinal", "request_digest"})
        named = {"model": seen.model or asked.model, "duration_ms": taken}
        return seen.model_copy(update={**ours, **named})

    def unanswered(self, error: BaseException) -> ModelCallFacts:
        """The facts of one that was refused, or that nobody heard a whole answer to (R068)."""
        given_up = isinstance(error, asyncio.CancelledError)
        code = ABANDONED if given_up else judge(error).code
        seen: dict[str, object] = {"status": "FAILED"}
        if self.attempts is not None and self.attempts.requests is not None:
            seen |= {"requests": self.attempts.requests, "level": self.attempts.level}
        if code in _UNHEARD:
            seen |= {"status": "LOST", "requests": None}
        known = {**seen, "duration_ms": self._since(), "error_code": code}
        return self.asked.model_copy(update=known)

    def entry(self, outcome: ModelOutcome) -> EntryDraft:
        """The outcome as it is stored, for whoever asks the same again (law 6)."""
        asked = self.asked
        return EntryDraft(
            kind=EntryKind.OUTCOME,
            body=outcome.body,
            path=asked.path,
            ordinal=asked.ordinal,
            request_digest=asked.request_digest,
        )

    def _since(self) -> int:
        return round((time.monotonic() - self.began) * 1000)
