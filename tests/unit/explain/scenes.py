"""Situations of a Turn in memory, each with its cause and the facts that this rests on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sessions_app.contract.status import CallState, TurnStatus, WaitReason
from sessions_app.machine.explain import Cause, Facts
from sessions_app.models import Host, Interaction, Thread, ToolCall, Turn, Wait

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SOON, AGO = NOW + timedelta(seconds=20), NOW - timedelta(seconds=20)
LONG_AGO = NOW - timedelta(seconds=31)
LATER = {"wake_at": None}


def host(name: str = "host_1", **columns: Any) -> Host:
    """Give a living Brain that runs the agent `clerk` in version 1."""
    shown = {"build": "b1", "definitions": ["clerk@1"], "seen_at": NOW, **columns}
    return Host(id=name, role="brain", **shown)


@dataclass
class Scene:
    """A Turn that the next look takes; each test changes what it is about."""

    turn: dict[str, Any] = field(default_factory=dict)
    thread: dict[str, Any] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)

    @property
    def facts(self) -> Facts:
        """Give the facts of the scene."""
        pin = {"definition": "clerk", "version": "1", "wake_at": AGO}
        thread = Thread(id="thr_1", thread_id="main", **{**pin, **self.thread})
        turn = Turn(id="turn_1", thread=thread, **{"status": TurnStatus.QUEUED, **self.turn})
        facts = Facts(
            now=NOW,
            turn=turn,
            thread=thread,
            queue=(turn,),
            ahead=0,
            calls=(),
            interactions=(),
            waits=(),
            last_run=None,
            hosts=(host(),),
            leases={},
            slots=2,
            lease=timedelta(seconds=30),
            scanned_at=NOW,
            grace_until=None,
        )
        return replace(facts, **self.given)


def waiting(reason: WaitReason, **columns: Any) -> dict[str, Any]:
    """Give columns of a Turn that waits."""
    return {"status": TurnStatus.WAITING, "reason": reason, **columns}


def call(state: CallState = CallState.STARTED, **columns: Any) -> ToolCall:
    """Give an external call that counts as sent."""
    shown = {"name": "ship", "route": "hands", "effect": "once", "deliver_at": SOON, **columns}
    return ToolCall(id="exe_1", state=state, **shown)


OWNED = {"lease_host": "host_1", "lease_token": "1.x", "lease_expires_at": SOON}
LAPSED = {**OWNED, "lease_expires_at": AGO}
FAILED = {
    "failures": 2,
    "policy_retries": 3,
    "policy_first_ms": 1000,
    "policy_max_ms": 30000,
    "error_class": "TimeoutError",
    "error_code": "UNAVAILABLE",
    "error_text": "no answer",
}
REFUSED = {
    "wake_at": SOON,
    "incompatible_builds": ["b1"],
    "incompatible_reason": "format 9",
    "incompatible_until": SOON,
}
RUNNING = {"status": TurnStatus.RUNNING, "run_id": "run_1"}
ASKED = Interaction(id="int_1", kind="APPROVAL", call_id="exe_1", opened_at=AGO)

CASES: list[tuple[Cause, Scene, dict[str, Any]]] = [
    (
        Cause.COMPLETED,
        Scene({"status": TurnStatus.COMPLETED, "finished_at": AGO}),
        {"finishedAt": AGO.isoformat()},
    ),
    (
        Cause.FAILED,
        Scene({"status": TurnStatus.FAILED, "finished_at": AGO, **FAILED}),
        {"errorCode": "UNAVAILABLE", "failures": 2},
    ),
    (
        Cause.CANCELLED,
        Scene({"status": TurnStatus.CANCELLED, "cancel_request": "c1"}),
        {"cancelRequest": "c1"},
    ),
    (
        Cause.RUNNING,
        Scene(RUNNING, OWNED),
        {"host": "host_1", "leaseUntil": SOON.isoformat(), "runId": "run_1"},
    ),
    (Cause.PAUSING, Scene({**RUNNING, "status": TurnStatus.PAUSING}, OWNED), {"host": "host_1"}),
    (Cause.OWNER_LOST, Scene(RUNNING, LAPSED), {"leaseUntil": AGO.isoformat(), "graceUntil": None}),
    (
        Cause.OWNER_LOST,
        Scene(RUNNING, LAPSED, {"grace_until": SOON}),
        {"graceUntil": SOON.isoformat()},
    ),
    (
        Cause.OWNER_LOST,
        Scene({**RUNNING, "status": TurnStatus.CANCELLING}, LAPSED),
        {"fittingHosts": ["host_1"]},
    ),
    (
        Cause.PAUSED,
        Scene(
            {"status": TurnStatus.PAUSED, "revision": 7, "pause_request": "p1"},
            given={
                "calls": (call(CallState.COMPLETED, deliver_at=None),),
                "interactions": (ASKED,),
            },
        ),
        {"revision": 7, "resultsArrived": ["exe_1"], "openInteractions": ["int_1"]},
    ),
    (
        Cause.CANCELLING,
        Scene(
            {"status": TurnStatus.CANCELLING, "cancel_request": "c1"},
            given={"calls": (call(cancel_requested_at=AGO),)},
        ),
        {"cancelRequest": "c1"},
    ),
    (Cause.CANCELLING, Scene({"cancel_request": "c1"}), {"executions": []}),
    (
        Cause.UNKNOWN_EFFECT,
        Scene(
            {"status": TurnStatus.CANCELLING, "cancel_request": "c1"},
            given={"calls": (call(CallState.UNKNOWN),)},
        ),
        {},
    ),
    (
        Cause.BEHIND_HEAD,
        Scene(given={"queue": (Turn(id="turn_0", **waiting(WaitReason.BACKOFF)),), "ahead": 3}),
        {"head": "turn_0", "headStatus": "WAITING", "headReason": "backoff", "ahead": 3},
    ),
    (
        Cause.SUSPECT,
        Scene(waiting(WaitReason.SUSPECT, suspect=True, deaths=5)),
        {"deaths": 5},
    ),
    (
        Cause.HELD,
        Scene({"status": TurnStatus.RUNNING, "deaths": 2, "held_until": SOON}),
        {"deaths": 2, "until": SOON.isoformat()},
    ),
    (
        Cause.INTERACTION,
        Scene(
            waiting(WaitReason.INTERACTION),
            LATER,
            {"interactions": (ASKED,), "calls": (call(),)},
        ),
        {"interactions": ["int_1"], "executionId": "exe_1", "openedAt": AGO.isoformat()},
    ),
    (
        Cause.BACKOFF,
        Scene(waiting(WaitReason.BACKOFF, retry_at=SOON, **FAILED), {"wake_at": SOON}),
        {"failures": 2, "retries": 3, "nextTryAt": SOON.isoformat()},
    ),
    (
        Cause.SIGNAL,
        Scene(
            waiting(WaitReason.SIGNAL, wait_deadline=SOON),
            {"wake_at": SOON},
            {"waits": (Wait(key="x.shop.paid", opened_at=AGO, deadline_at=SOON),)},
        ),
        {
            "deadline": SOON.isoformat(),
            "waits": [
                {
                    "key": "x.shop.paid",
                    "openedAt": AGO.isoformat(),
                    "deadline": SOON.isoformat(),
                }
            ],
        },
    ),
    (
        Cause.NO_HOST,
        Scene(given={"hosts": (host(definitions=["clerk@2"]),)}),
        {"definition": "clerk@1", "livingDefinitions": ["clerk@2"]},
    ),
    (Cause.NO_HOST, Scene(given={"hosts": ()}), {"livingHosts": [], "livingDefinitions": []}),
    (
        Cause.NO_HOST,
        Scene(given={"hosts": (host(draining_at=AGO),)}),
        {"drainingHosts": ["host_1"]},
    ),
    (
        Cause.READY,
        Scene(given={"hosts": (host(definitions=["clerk@*"]),)}),
        {"fittingHosts": ["host_1"]},
    ),
    (
        Cause.HOST_SILENT,
        Scene(given={"hosts": (host(seen_at=LONG_AGO),)}),
        {"silentHosts": {"host_1": LONG_AGO.isoformat()}},
    ),
    (Cause.STRANDED, Scene(waiting(WaitReason.TOOL), {"wake_at": None}), {"reason": "tool"}),
    (
        Cause.INCOMPATIBLE,
        Scene(waiting(WaitReason.INCOMPATIBLE), REFUSED),
        {"reason": "format 9", "builds": ["b1"], "nextLook": SOON.isoformat(), "otherHosts": []},
    ),
    (
        Cause.INCOMPATIBLE,
        Scene(
            waiting(WaitReason.INCOMPATIBLE),
            REFUSED,
            {"hosts": (host(), host("host_2", build="b2"))},
        ),
        {"otherHosts": ["host_2"]},
    ),
    (
        Cause.EVERY_SLOT_BUSY,
        Scene(given={"leases": {"host_1": 2}}),
        {"hosts": {"host_1": 2}, "slots": 2, "readySince": AGO.isoformat()},
    ),
    (Cause.NO_SCAN, Scene(given={"scanned_at": None}), {"scannedAt": None}),
    (Cause.NO_SCAN, Scene(given={"scanned_at": AGO}), {"scannedAt": AGO.isoformat()}),
    (Cause.HANDED_OVER, Scene(waiting(WaitReason.HANDED_OVER)), {"fittingHosts": ["host_1"]}),
    (Cause.READY, Scene(), {"readySince": AGO.isoformat()}),
    (
        Cause.READY,
        Scene(
            waiting(WaitReason.INCOMPATIBLE),
            {**REFUSED, "incompatible_until": AGO, "wake_at": AGO},
            {"hosts": (host(), host("host_2", build="b2"))},
        ),
        {},
    ),
]
