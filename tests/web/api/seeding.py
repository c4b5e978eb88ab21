"""Rows for a site that is tested from outside: `python -m tests.web.api.seeding` prints their ids.

One Session has nearly all of it, so that ids taken by chance mostly fit each other.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import django

if TYPE_CHECKING:
    from django.db.models import Model

    from tests.integration.invariants.world import World

TURNS = 80
QUESTIONS = 20
TENANTS = ("acme", "other")


def seed() -> dict[str, Any]:
    """Make a Session full of work, and a token for each of two tenants; return ids and secrets."""
    from sessions_app import models  # noqa: PLC0415 - needs Django set up
    from sessions_app.contract.decisions import RuleDraft  # noqa: PLC0415 - as above
    from sessions_app.contract.grants import Role, TokenDraft  # noqa: PLC0415 - as above
    from sessions_app.contract.identity import DefinitionKey  # noqa: PLC0415 - as above
    from sessions_app.store import rules, tokens  # noqa: PLC0415 - as above
    from tests.integration.invariants.world import World  # noqa: PLC0415 - as above

    world = World(definition=DefinitionKey("night-report", "1"))
    world.finished("first")
    _ask(world)
    turns = [world.submitted(f"queued-{number}").pk for number in range(TURNS)]
    models.Turn.objects.filter(pk__in=turns[:5]).update(deaths=5, suspect=True)
    made = [
        tokens.create(TokenDraft(name, frozenset({Role.OPERATOR}), "ann", frozenset({name})))
        for name in TENANTS
    ]
    return {
        "tokens": [each.secret for each in made],
        "session": [world.key.session_id],
        "thread": ["main", "gate"],
        "turn": turns,
        "held": turns[:5],
        "ended": list(models.Turn.objects.filter(request_id="first").values_list("pk", flat=True)),
        "asking": list(
            models.Turn.objects.filter(request_id="asking").values_list("pk", flat=True)
        ),
        "run": _of_first(models.Run),
        "step": _of_first(models.Step),
        "call": _of_first(models.ModelCall),
        "interaction": list(models.Interaction.objects.values_list("pk", flat=True)),
        "execution": list(
            models.ToolCall.objects.filter(route="hands").values_list("pk", flat=True)
        ),
        "rule": [
            rules.create(RuleDraft("acme", f"tool-{n}", allow=False, by="ann")).rule_id
            for n in range(QUESTIONS)
        ],
    }


def _of_first(model: type[Model]) -> list[str]:
    """Ids of rows of the Turn that has ended."""
    return list(
        model._default_manager.filter(turn__request_id="first").values_list("pk", flat=True)
    )


def _ask(world: World) -> None:
    """Park a Turn of another Thread on approvals, and on calls that have not left yet."""
    from sessions_app.store import admission  # noqa: PLC0415 - as above
    from tests.integration.waits.scenes import gated  # noqa: PLC0415 - as above

    gate = world.key.thread("gate")
    admission.create_thread(gate, world.definition)
    world.submitted("asking", gate)
    claim = world.claimed()
    world.parks_on(claim, *(gated(place, "hands") for place in range(QUESTIONS)))


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable_site.settings")
    django.setup()
    sys.stdout.write(json.dumps(seed()))
