"""The checker: which rules make up which invariant, and one walk over all in one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.db import connection

from sessions_app.store import observing
from sessions_app.store.invariants import (
    calls,
    folding,
    messages,
    objects,
    outside,
    pairs,
    receipts,
    recovery,
    statuses,
    tokens,
    waking,
    wishes,
)
from sessions_app.store.invariants.look import Look
from sessions_app.store.invariants.report import Breach, Report, Skipped
from sessions_app.store.invariants.snapshot import snapshot
from sessions_app.store.invariants.statements import statements
from sessions_app.store.looking import look

if TYPE_CHECKING:
    from pathlib import Path

    from sessions_app.models import AuditEntry

Rule = tuple[int, Callable[[Look], Iterator[Breach]]]

MOST: Final = 100
"""Breaches that one rule names; a rule that finds more says so and stops."""

_FOLDS: Final[tuple[Rule, ...]] = (
    (1, statuses.terminal_once),
    (2, statuses.legal_moves),
    (6, tokens.counter_grows),
    (9, recovery.budget_kept),
    (9, recovery.waits_kept),
    (11, wishes.nothing_while_paused),
    (12, wishes.resumed_what_was_seen),
    (13, wishes.nothing_after_a_cancel),
    (14, receipts.one_meaning),
    (14, receipts.inputs_kept),
    (15, receipts.all_there),
    (17, receipts.digests_hold),
    (20, statuses.folded),
    (20, messages.folded),
    (20, folding.snapshots_agree),
    (21, statuses.together),
    (21, pairs.together),
    (23, messages.grow_only),
    (25, calls.in_order),
    (26, calls.one_identity),
    (26, calls.starts_counted),
    (28, calls.doubt_ended_by_evidence),
    (30, calls.first_result_stays),
    (32, calls.applied_once),
    (34, calls.arguments_kept),
    (34, calls.arguments_told),
    (35, calls.decided_once),
    (38, objects.resolve),
)
_STATEMENTS: Final = ("turns", "runs", "fencing", "wholeness", "calls", "waits", "accounting")
_NOT_QUIET: Final = "only a database at rest can be asked whether it waits for something"
_NO_ORACLE: Final = "no oracle file given"
_NO_PROMPTS: Final = "no prompts file given; the rows were checked"


@look
def check(
    *, quiet: bool = False, oracle: Path | None = None, prompts: Path | None = None
) -> Report:
    """Check the whole database in one read-only snapshot; writers are not held up.

    `quiet` asks also whether everything unfinished can still end (I41, I42), which need hold only
    when the system is at rest and healed. `oracle` is a file with a line for each effect of a tool
    (I27), `prompts` the log of the model provider (I33). Raises Conflict inside a transaction,
    Unavailable when the database cannot be reached.
    """
    rules = [*_of(_STATEMENTS), *_FOLDS]
    skipped = []
    if quiet:
        rules += [*_of(_quiet_statements()), (41, waking.wakes_in_time)]
    else:
        skipped += [Skipped(41, _NOT_QUIET), Skipped(42, _NOT_QUIET)]
    if oracle is None:
        skipped.append(Skipped(27, _NO_ORACLE))
    else:
        rules.append((27, partial(outside.effects, oracle=oracle)))
    if prompts is None:
        skipped.append(Skipped(33, _NO_PROMPTS))
    else:
        rules.append((33, partial(outside.prompts_whole, prompts=prompts)))
    return _walk(rules, skipped)


def _of(names: Iterable[str]) -> Iterator[Rule]:
    for name in names:
        for statement in statements(name):
            yield statement.number, statement.find


def _quiet_statements() -> tuple[str, ...]:
    return ("quiet", "quiet_postgresql") if connection.vendor == "postgresql" else ("quiet",)


def _walk(rules: list[Rule], skipped: list[Skipped]) -> Report:
    found: list[Breach] = []
    with snapshot() as now:
        asked = Look(now, _patience())
        for number, find in rules:
            found += _bounded(number, find(asked))
        told = tuple(map(_contradiction, islice(observing.contradicted(), MOST)))
    checked = sorted({number for number, _ in rules})
    return Report(tuple(sorted(found)), tuple(checked), tuple(sorted(skipped)), told)


def _contradiction(entry: AuditEntry) -> str:
    stands, late = entry.before["state"], entry.after["state"]
    return f"{entry.target} ended as {stands}, and its worker reported {late} later"


def _bounded(number: int, breaches: Iterator[Breach]) -> list[Breach]:
    first = list(islice(breaches, MOST + 1))
    if len(first) > MOST:
        first[MOST] = Breach(number, "elsewhere", f"more than {MOST} breaches of this rule")
    return first


def _patience() -> timedelta:
    """Lease and two scans: what is due longer than this was forgotten."""
    return timedelta(
        seconds=settings.DURABLE["LEASE_SECONDS"] + 2 * settings.DURABLE["SCAN_SECONDS"]
    )
