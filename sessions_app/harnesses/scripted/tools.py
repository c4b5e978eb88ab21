"""Tool calls of the scripted kernel: the intents of a reply, and runs of those that belong here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hands_app.contract.errors import InvalidArguments
from sessions_app.contract.status import CallState
from sessions_app.harnesses import calls
from sessions_app.harnesses.calls import Shown
from sessions_app.harnesses.local import perform, tool_context

if TYPE_CHECKING:
    from collections.abc import Callable

    from hands_app.contract.tools import Tool
    from sessions_app.contract.backend import CallFacts
    from sessions_app.ports import ExecutionHost, ToolReturn
    from sessions_app.registry import Definition


class Round:
    """The calls of one reply, and what is known of each."""

    def __init__(
        self, definition: Definition, host: ExecutionHost, asked: list[dict[str, Any]], number: int
    ) -> None:
        """`number` is the model ordinal of the reply."""
        self._host = host
        self._asked = asked
        self._number = number
        self._tools = {tool.name: tool for tool in definition.tools}
        self._outcomes = [_refusal(self._tools, call) for call in asked]
        self._known: list[CallFacts | None] = [None] * len(asked)
        self.applied = False
        self._read()

    @property
    def is_settled(self) -> bool:
        """Whether every call has a result."""
        return None not in self._outcomes

    def results(self) -> list[tuple[str, Shown]]:
        """Call id and result of each call, in call order; the transcript holds them from now on."""
        self.applied = True
        pairs = zip(self._asked, self._outcomes, strict=True)
        return [(call["id"], outcome) for call, outcome in pairs if outcome is not None]

    def unapplied(self) -> list[str]:
        """Execution ids of results that no checkpoint contains yet."""
        return [facts.execution_id for facts in self._known if facts and not facts.applied]

    async def intend(self) -> None:
        """Buffer missing intents, and commit them unless the Turn parks with that same commit."""
        begun = False
        for place in [place for place in self._open() if self._known[place] is None]:
            call = self._asked[place]
            binding = self._tools[call["name"]].binding
            asked = calls.intent(call["id"], place, call["arguments"], binding, begins=not begun)
            begun |= asked.start
            self._host.intend(asked)
        if begun:
            await self._host.commit()
            self._read()

    async def run(self, apply: Callable[[Round], None]) -> None:
        """Run what belongs here, in order; the last result is committed with its application."""
        for place in self._open():
            facts = self._known[place]
            if facts is not None:
                self._outcomes[place] = calls.shown(await self._run_one(place, facts, apply))

    async def _run_one(
        self, place: int, facts: CallFacts, apply: Callable[[Round], None]
    ) -> CallFacts:
        tool = self._tools[facts.name]
        if not calls.runs_here(facts):
            return facts

        async def body() -> ToolReturn:
            context = tool_context(self._host.context, facts.execution_id)
            returned = await perform(tool, self._asked[place]["arguments"], context)
            self._outcomes[place] = calls.returned(returned)
            if self.is_settled:
                apply(self)
            return returned

        return await self._host.run_local(facts.execution_id, body)

    def _open(self) -> list[int]:
        return [place for place, outcome in enumerate(self._outcomes) if outcome is None]

    def _read(self) -> None:
        for place in self._open():
            known = self._host.call(self._asked[place]["id"], place, self._number)
            self._known[place] = known
            self._outcomes[place] = calls.shown(known) if known is not None else None


def _refusal(tools: dict[str, Tool], call: dict[str, Any]) -> Shown | None:
    """The error result of a call that can never run: an unknown tool, or wrong arguments."""
    tool = tools.get(call["name"])
    if tool is None:
        have = ", ".join(tools) or "none"
        return Shown(f"There is no tool {call['name']!r}. Tools: {have}.", CallState.FAILED)
    if not isinstance(call["arguments"], dict):
        return Shown("The arguments are no JSON object.", CallState.FAILED)
    try:
        tool.signature.validate(call["arguments"])
    except InvalidArguments as error:
        return Shown(f"The arguments do not fit: {error}", CallState.FAILED)
    return None
