"""Turns that wait for people and signals, made by the real store, and short ways to answer."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sessions_app.contract.backend import IntentDraft, Park
from sessions_app.models import Interaction, ToolCall, Turn, Wait
from sessions_app.store import asked, interactions

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.backend import Claim, WaitDraft
    from sessions_app.contract.identity import SessionKey, ThreadKey
    from sessions_app.contract.views import InteractionView, Receipt
    from tests.stores import Store

ALLOW: Final = True
DENY: Final = False
_numbers = itertools.count(1)


def gated(place: int = 0, route: str = "local", **binding: JsonValue) -> IntentDraft:
    """An intent that a person has to allow."""
    return ungated(place, route, **binding).model_copy(update={"needs_approval": True})


def ungated(place: int = 0, route: str = "local", **binding: JsonValue) -> IntentDraft:
    """An intent that nobody has to allow."""
    return IntentDraft(
        call_id=f"call-{place}",
        ordinal=place,
        name=f"tool-{place}",
        arguments={"x": place},
        binding={"name": f"tool-{place}", **binding},
        route=route,
        effect="once",
    )


def waits_for(key: str, place: int = 0, **binding: JsonValue) -> IntentDraft:
    """An intent whose call a signal of this key settles."""
    made = ungated(place, "signal", target=key, **binding)
    return made.model_copy(update={"arguments": {}})


@dataclass
class Scene:
    """One Turn of the store under test."""

    store: Store
    key: ThreadKey
    turn_id: str
    claim: Claim

    @classmethod
    def parked(
        cls,
        store: Store,
        *intents: IntentDraft,
        waits: tuple[WaitDraft, ...] = (),
        session: SessionKey | None = None,
    ) -> Scene:
        """Give a Turn whose model asked for these calls, and that nobody owns now."""
        scene = cls.running(store, *intents, session=session)
        store.commit(scene.claim, Park(waits=waits))
        return scene

    @classmethod
    def running(
        cls, store: Store, *intents: IntentDraft, session: SessionKey | None = None
    ) -> Scene:
        """Give a Turn whose model asked for these calls, still owned."""
        key = session or store.session(f"waits-{next(_numbers)}")
        turn_id = store.submit(key)
        claim = store.claim(first=store.turn(turn_id).thread_id)
        store.answered(claim, *intents)
        return cls(store, key.thread(), turn_id, claim)

    @property
    def turn(self) -> Turn:
        """The Turn's row, fresh."""
        return self.store.turn(self.turn_id)

    def asked(self) -> list[Interaction]:
        """Its interactions, the oldest first."""
        return list(Interaction.objects.filter(turn=self.turn_id).order_by("id"))

    def calls(self) -> list[ToolCall]:
        """Its calls, in their order."""
        return list(ToolCall.objects.filter(turn=self.turn_id).order_by("round", "ordinal"))

    def waits(self) -> list[Wait]:
        """Its waits, the oldest first."""
        return list(Wait.objects.filter(turn=self.turn_id).order_by("id"))

    def pending(self) -> list[InteractionView]:
        """What can be answered now."""
        return list(asked.pending(self.turn_id).items)

    def respond(
        self, response: Any, place: int = 0, request: str = "", actor: str | None = None
    ) -> Receipt:
        """Answer the interaction at this place."""
        name, asked_for = self._request(request), self.asked()[place].id
        return interactions.respond(self.key, self.turn_id, name, asked_for, response, actor)

    def signal(self, key: str, content: JsonValue = None, request: str = "") -> Receipt:
        """Send a signal."""
        return interactions.signal(self.key, self.turn_id, self._request(request), key, content)

    def _request(self, name: str) -> str:
        return name or f"request-{next(_numbers)}"
