"""Claims as they should come out: order, fencing, takeover and what a death leaves (R033, S5)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from tests.simulation.predict import asking, owners
from tests.simulation.predict.state import HERE, LEASE, REPEATABLE, Expected, Facts, goes_on, move

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sessions_app.contract.backend import HostIdentity


def claims(
    known: Expected,
    host: HostIdentity,
    *,
    first: str | None,
    suspects: bool,
    running: Collection[str],
    broke_off: bool = False,
) -> list[Facts]:
    """The Threads that a claim without a limit should give, the hinted one alone if it does.

    A claim that broke off behind its first commit has looked at no other.
    """
    if first is not None and first not in running:
        hinted = known.threads.get(first)
        if hinted is not None and known.wake(hinted) is not None:
            found = _claimed(known, host, [hinted], suspects=suspects)
            if found or broke_off:
                return found
    names = {key.name for key in host.definitions}
    due = [
        thread
        for thread in sorted(known.threads.values(), key=lambda thread: thread["pk"])
        if thread["definition"] in names and thread["pk"] not in running and known.is_due(thread)
        if not _passed_over(known, host, thread, suspects=suspects)
    ]
    return _claimed(known, host, due, suspects=suspects)


def _claimed(
    known: Expected, host: HostIdentity, threads: Iterable[Facts], *, suspects: bool
) -> list[Facts]:
    found: list[Facts] = []
    for thread in threads:
        several = any(known.head(one)["deaths"] >= 2 for one in found)  # type: ignore[index]  # it has a head
        if _claim(known, host, thread, suspects=suspects and not several):
            found.append(thread)
    return found


def _claim(known: Expected, host: HostIdentity, thread: Facts, *, suspects: bool) -> bool:
    head = known.head(thread)
    if head is None or asking.due_by_itself(known, thread, head):
        return False
    if not _may_claim(known, host, thread, head, suspects=suspects):
        return False
    if head["run"] is not None and not _buried(known, thread, head):
        return False
    calls = known.open_calls(head)
    if any(call["state"] == "UNKNOWN" for call in calls) and not goes_on(calls):
        _rest_for(head, "unknown")
        return False
    _begin(known, thread, head, host)
    return True


def _passed_over(known: Expected, host: HostIdentity, thread: Facts, *, suspects: bool) -> bool:
    """A look leaves alone what it could not run, deadlines included; another host sees to them."""
    head = known.head(thread)
    held = head is not None and head["deaths"] >= 2
    return host.build in thread["builds"] or (held and not suspects)


def _may_claim(
    known: Expected, host: HostIdentity, thread: Facts, head: Facts, *, suspects: bool
) -> bool:
    if not known.is_due(thread) or head["status"] == "PAUSED" or head["suspect"]:
        return False
    if thread["token"] is not None and (thread["expires"] > known.now or known.in_grace()):
        return False
    return host.build not in thread["builds"] and (suspects or head["deaths"] < 2)


def _buried(known: Expected, thread: Facts, head: Facts) -> bool:
    """End the Run of a dead process; False when the Turn may not go on at once (S5)."""
    owners.free(thread)
    head["run"] = None
    head["takeovers"] += 1
    head["deaths"] += 1
    if head["deaths"] >= 2:
        seconds = min(2.0 ** (head["deaths"] - 2), 300.0)
        head["held"] = known.now + timedelta(seconds=seconds)
    if head["deaths"] >= 5:
        head["suspect"] = True
        _rest_for(head, "suspect")
    for call in known.open_calls(head):
        started_here = call["state"] == "STARTED" and call["route"] in HERE
        if started_here and call["effect"] not in REPEATABLE:
            call["state"] = "UNKNOWN"
    if head["cancel"]:
        owners.abandon(known, head)
    if head["status"] == "PAUSING":
        move(head, "PAUSED")
        return False
    return not head["suspect"] and (head["held"] is None or head["held"] <= known.now)


def _rest_for(turn: Facts, reason: str) -> None:
    if turn["status"] == "RUNNING" or (turn["status"] == "WAITING" and turn["reason"] != reason):
        move(turn, "WAITING", reason)


def _begin(known: Expected, thread: Facts, head: Facts, host: HostIdentity) -> None:
    head["retry_at"] = head["held"] = None
    head["started"] = True
    thread["epoch"] += 1
    thread["host"], thread["token"] = host.host_id, "unknown yet"
    thread["expires"] = known.now + LEASE
    if head["status"] in {"QUEUED", "WAITING"}:
        move(head, "RUNNING")


def bind(known: Expected, thread: Facts, token: str, run_id: str) -> None:
    """Learn the names that the store gave to a predicted claim."""
    thread["token"] = token
    known.head(thread)["run"] = run_id  # type: ignore[index]  # it has a head
