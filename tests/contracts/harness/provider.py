"""The provider's side of the suite: what was asked, and the refusal of what no provider takes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from sessions_app.harnesses.scripted.model import Reply, Transcript, refuse_broken

Hook = Callable[[int], Awaitable[None]]


@dataclass
class Provider:
    """Answers by the number of assistant messages in the prompt; counts and keeps every prompt."""

    replies: Sequence[Reply]
    prompts: list[Transcript] = field(default_factory=list)
    hook: Hook | None = None

    @property
    def requests(self) -> int:
        """How many requests arrived."""
        return len(self.prompts)

    async def answer(self, transcript: Transcript) -> Reply:
        """Keep the prompt, refuse it if it is broken, wait for the hook, answer."""
        refuse_broken(transcript)
        self.prompts.append([dict(message) for message in transcript])
        if self.hook is not None:
            await self.hook(self.requests)
        return self.reply(transcript)

    def reply(self, transcript: Transcript) -> Reply:
        """A pure function of the prompt."""
        answered = len([message for message in transcript if message["role"] == "assistant"])
        return self.replies[answered]
