"""Why nobody has taken a Turn that could go on: no fitting host, no slot, nobody looked."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from sessions_app.contract.status import WaitReason
from sessions_app.machine.explain import actions
from sessions_app.machine.explain.facts import Cause, Facts, as_json, say

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.explanation import Explanation

LATE: Final = timedelta(seconds=5)


def missing(facts: Facts) -> Explanation:
    """The first reason, in the end that the next look takes it (R264)."""
    return (
        _incompatible(facts)
        or _stranded(facts)
        or _no_host(facts)
        or _silent(facts)
        or _busy(facts)
        or _unscanned(facts)
        or _next(facts)
    )


def _incompatible(facts: Facts) -> Explanation | None:
    """Hosts that looked could not run it; their builds look no more, others later (S17)."""
    thread, until = facts.thread, facts.thread.incompatible_until
    builds = thread.incompatible_builds
    others = [host for host in facts.fitting if host.build not in builds]
    if not builds or (others and (until is None or until <= facts.now)):
        return None
    other = "a brain of another build"
    return say(
        facts,
        Cause.INCOMPATIBLE,
        f"{len(builds)} builds could not run {thread.pin}: {thread.incompatible_reason}",
        [
            actions.start(thread.pin, f"start {other} that runs {thread.pin}"),
            actions.versions(thread.pin),
            actions.repin(thread.pin, thread.id),
            actions.cancel(facts.turn),
        ],
        f"{until.isoformat()}, when {others[0].id} looks" if others and until else other,
        definition=str(thread.pin),
        reason=thread.incompatible_reason,
        builds=[*builds],
        nextLook=until,
        otherHosts=[host.id for host in others],
    )


def _stranded(facts: Facts) -> Explanation | None:
    """Nothing is missing and no look will come: a rule was broken, which `check` shows (S2)."""
    if facts.thread.wake_at is not None:
        return None
    return say(
        facts,
        Cause.STRANDED,
        "nothing is missing and no look will ever come, which must not be; please report it",
        [actions.CHECK, actions.cancel(facts.turn)],
        None,
        reason=facts.turn.reason,
    )


def _no_host(facts: Facts) -> Explanation | None:
    """Nobody alive has the definition, or who has it drains."""
    thread = facts.thread
    if any(not host.draining_at for host in facts.having):
        return None
    pin = str(thread.pin)
    living = [host for host in facts.hosts if facts.renewed(host)]
    have = sorted({name for host in living for name in host.definitions})
    known = f"they have {', '.join(have)}" if have else "none is alive"
    drains = [host.id for host in facts.having]
    return say(
        facts,
        Cause.NO_HOST,
        f"no living brain has {pin}; {f'{len(drains)} that have it drain' if drains else known}",
        [
            actions.start(thread.pin, f"start a brain that registers {pin}"),
            actions.versions(thread.pin),
            actions.repin(thread.pin, thread.id),
            actions.cancel(facts.turn),
        ],
        f"a living brain that has {pin}",
        definition=pin,
        livingDefinitions=[*have],
        livingHosts=[host.id for host in living],
        drainingHosts=[*drains],
    )


def _silent(facts: Facts) -> Explanation | None:
    """Who has the definition has not renewed for a lease: it does not reach storage, or is gone."""
    if facts.fitting:
        return None
    silent: dict[str, JsonValue] = {
        host.id: as_json(host.seen_at) for host in facts.having if not host.draining_at
    }
    return say(
        facts,
        Cause.HOST_SILENT,
        f"{len(silent)} brains have {facts.thread.pin}; none has reached the database for "
        f"{facts.lease.total_seconds():.0f} s",
        [
            actions.DOCTOR,
            actions.start(facts.thread.pin, "start another brain"),
            actions.cancel(facts.turn),
        ],
        f"a renewal by {', '.join(silent)}",
        silentHosts=silent,
    )


def _busy(facts: Facts) -> Explanation | None:
    """Every fitting host owns as many Threads as it has slots."""
    owned = {host.id: facts.leases.get(host.id, 0) for host in facts.fitting}
    if any(count < facts.slots for count in owned.values()):
        return None
    return say(
        facts,
        Cause.EVERY_SLOT_BUSY,
        f"each of {len(owned)} fitting brains runs {facts.slots} turns, as many as it has slots",
        [
            actions.WAIT,
            actions.start(facts.thread.pin, "start another brain"),
            actions.cancel(facts.turn),
        ],
        "a free slot",
        hosts={**owned},
        slots=facts.slots,
        readySince=facts.thread.wake_at,
    )


def _unscanned(facts: Facts) -> Explanation | None:
    """Nobody repairs a lost hint (R166)."""
    scanned = facts.scanned_at
    if scanned is not None and scanned > facts.now - LATE:
        return None
    when = f"since {scanned.isoformat()}" if scanned else "yet"
    return say(
        facts,
        Cause.NO_SCAN,
        f"nobody has scanned the ready index {when}",
        [actions.SCAN, actions.DOCTOR, actions.cancel(facts.turn)],
        "a hint or a scan",
        scannedAt=scanned,
        readySince=facts.thread.wake_at,
    )


def _next(facts: Facts) -> Explanation:
    handed = facts.turn.reason == WaitReason.HANDED_OVER
    cause = Cause.HANDED_OVER if handed else Cause.READY
    began = "its host drained and handed it over" if handed else "it is ready"
    return say(
        facts,
        cause,
        f"{began}; the next look of {len(facts.fitting)} fitting brains takes it",
        [actions.WAIT, actions.cancel(facts.turn)],
        "the next look" if facts.due else f"a look at {facts.thread.wake_at}",
        readySince=facts.thread.wake_at,
        fittingHosts=[host.id for host in facts.fitting],
        scannedAt=facts.scanned_at,
    )
