"""The one `DURABLE` setting: every figure and swappable part of the runtime, typed."""

from pathlib import Path
from typing import TypedDict

from django.core.exceptions import ImproperlyConfigured

from durable_site.environment import bound, choice, count, name, seconds, text, words
from hands_app.contract import queues
from hands_app.contract.errors import Incompatible
from hands_app.objects.opening import place


class Recovery(TypedDict):
    """After a failure: so many retries, the first after so long, doubling to the cap."""

    retries: int
    first_seconds: float
    cap_seconds: float


class Durable(TypedDict):
    """The runtime's settings; durations are in seconds."""

    NAMESPACE: str
    """Prefix of queue names."""
    STATE_DIR: Path
    """Private folder of this system on this machine."""
    REDIS_URL: str
    RABBITMQ_URL: str
    """The broker instead of Redis, which then only coalesces hints."""
    """Broker and hints; empty means Celery's folder broker."""
    LEASE_SECONDS: float
    """How long a claim holds unless it is renewed."""
    RENEW_SECONDS: float
    """How often a process renews its claims."""
    SCAN_SECONDS: float
    """How often the ready index is scanned."""
    SWEEP_SECONDS: float
    """How often a Brain process looks for processes that died."""
    DRAIN_SECONDS: float
    """Time for a process told to stop to bring its Turns to a safe boundary."""
    LOCK_WAIT_SECONDS: float
    """Longest wait for a row lock before the caller gets Unavailable."""
    BRAIN_SLOTS: int
    """Turns that one Brain process runs at once."""
    DB_THREADS: int
    """Threads that do a process's database work; on SQLite one, the only writer."""
    RECOVERY: Recovery
    """The policy of Turns that name none."""
    CHANGED_DEFINITIONS: str
    """An agent that changed under its version label: `refuse` it at start-up, or `accept` it."""
    WAKEUPS: str
    """Dotted path of the Wakeups port's implementation."""
    AUTHORIZER: str
    """Dotted path of the Authorizer port's implementation: who a request is of, what it may do."""
    STREAMS: int
    """Event streams that one web process serves at once."""
    STREAMS_EACH: int
    WEB_CONNECTIONS: int
    """Those of one identity among them."""
    API_RATE: int | None
    """Requests a second that one identity may make of one web process; None: no bound."""
    COMMIT_POLICY: str
    """Dotted path of a callable that sees the records inside each commit; empty for none (R247)."""
    OUTSIDE: tuple[str, ...]
    """Dotted paths of the Outside port's implementations: what a purge empties beside the rows."""
    LEDGER: str
    """Dotted path of the Ledger port's implementation: where external calls are reconciled."""
    HANDS_POOLS: tuple[str, ...]
    """Named pools of Hands workers; each has queues of its own."""
    HANDS_RETRY_SECONDS: float
    """Until an unconfirmed command is sent again and admitted work is asked about, at first."""
    EXECUTORS: dict[str, str]
    """By route the dotted path of what carries its commands, where that is no queue of a pool.

    A class is made with `from_settings(route)`, and closed with the process; what is an object
    already is used and left to whoever made it (R198).
    """
    DIRECT_TOOLS: tuple[str, ...]
    """Modules whose tools on the route `direct` run inside of the Brain processes."""
    HTTP_POOLS: dict[str, str]
    """By route the address of the sidecar that runs its tools."""
    KEEP_EVENTS: int | None
    """Events that a Session keeps unless it says so itself; None keeps all."""
    KEEP_SECONDS: int | None
    """How long it keeps them; None for ever."""
    PRUNE_SECONDS: float
    """How often events that may go are looked for."""
    OBJECTS_DIR: Path | None
    """Folder of large bodies, the same for every process of both houses; None for no store."""
    OBJECTS_FROM: int
    """Size of a body that goes there, in characters of its JSON text."""
    OBJECTS_GRACE_SECONDS: float
    """How long an object that nothing refers to is kept after it was put."""
    FAULTS: str
    """Fault plan of a test process; empty in real life."""


def durable_settings(state_dir: Path, redis_url: str, *, on_sqlite: bool) -> Durable:
    """Return the settings of this process; raises ImproperlyConfigured for a senseless figure."""
    direct, sidecars = words("DURABLE_DIRECT_TOOLS"), _sidecars()
    return {
        "NAMESPACE": _namespace(),
        "STATE_DIR": state_dir,
        "REDIS_URL": redis_url,
        "RABBITMQ_URL": text("RABBITMQ_URL"),
        "LEASE_SECONDS": seconds("DURABLE_LEASE_SECONDS", 30.0),
        "RENEW_SECONDS": seconds("DURABLE_RENEW_SECONDS", 10.0),
        "SCAN_SECONDS": seconds("DURABLE_SCAN_SECONDS", 1.0),
        "SWEEP_SECONDS": seconds("DURABLE_SWEEP_SECONDS", 0.25),
        "DRAIN_SECONDS": seconds("DURABLE_DRAIN_SECONDS", 20.0),
        "LOCK_WAIT_SECONDS": seconds("DURABLE_LOCK_WAIT_SECONDS", 1.0),
        "BRAIN_SLOTS": count("DURABLE_BRAIN_SLOTS", 8),
        "DB_THREADS": count("DURABLE_DB_THREADS", 1 if on_sqlite else 4),
        "RECOVERY": {"retries": 3, "first_seconds": 1.0, "cap_seconds": 30.0},
        "CHANGED_DEFINITIONS": choice("DURABLE_CHANGED_DEFINITIONS", ("refuse", "accept")),
        "WAKEUPS": "sessions_app.transports.celery_wakeups.CeleryWakeups",
        "AUTHORIZER": text("DURABLE_AUTHORIZER", "sessions_app.api.authorizing.TokenAuthorizer"),
        "STREAMS": count("DURABLE_STREAMS", 2000),
        "STREAMS_EACH": count("DURABLE_STREAMS_EACH", 200),
        "WEB_CONNECTIONS": count("DURABLE_WEB_CONNECTIONS", 16),
        "API_RATE": bound("DURABLE_API_RATE", 100),
        "COMMIT_POLICY": "",
        "OUTSIDE": ("durable_site.outside.HandsLedger", "durable_site.outside.Objects"),
        "LEDGER": "durable_site.outside.HandsLedger",
        "HANDS_POOLS": _pools(),
        "HANDS_RETRY_SECONDS": seconds("DURABLE_HANDS_RETRY_SECONDS", 5.0),
        "EXECUTORS": {
            **({"direct": "durable_site.direct.DirectExecutor"} if direct else {}),
            **dict.fromkeys(sidecars, "durable_site.sidecar.SidecarExecutor"),
        },
        "HTTP_POOLS": sidecars,
        "DIRECT_TOOLS": direct,
        "KEEP_EVENTS": bound("DURABLE_KEEP_EVENTS", 10_000),
        "KEEP_SECONDS": bound("DURABLE_KEEP_SECONDS", 30 * 24 * 3600),
        "PRUNE_SECONDS": seconds("DURABLE_PRUNE_SECONDS", 60.0),
        "OBJECTS_DIR": place(text("DURABLE_OBJECTS_DIR"), state_dir),
        "OBJECTS_FROM": 256 * 1024,
        "OBJECTS_GRACE_SECONDS": seconds("DURABLE_OBJECTS_GRACE_SECONDS", 24 * 3600.0),
        "FAULTS": text("DURABLE_FAULTS"),
    }


def _namespace() -> str:
    try:
        return queues.namespace_name(name("DURABLE_NAMESPACE", queues.DEFAULT_NAMESPACE))
    except Incompatible as error:
        message = f"DURABLE_NAMESPACE: {error}"
        raise ImproperlyConfigured(message) from None


def _pools() -> tuple[str, ...]:
    """Return the routes of Hands; raises ImproperlyConfigured for one that cannot be a queue's."""
    try:
        given = words("DURABLE_HANDS_ROUTES", (queues.DEFAULT_ROUTE,))
        return tuple(dict.fromkeys(map(queues.route_name, given)))
    except Incompatible as error:
        message = f"DURABLE_HANDS_ROUTES: {error}"
        raise ImproperlyConfigured(message) from None


def _sidecars() -> dict[str, str]:
    """Read `route=address` pairs; raises ImproperlyConfigured for what is none."""
    found: dict[str, str] = {}
    for pair in words("DURABLE_HTTP_POOLS"):
        route, equals, address = pair.partition("=")
        try:
            found[queues.route_name(route.strip())] = address.strip()
        except Incompatible as error:
            raise ImproperlyConfigured(str(error)) from error
        if not equals or not address.strip().startswith(("http://", "https://")):
            message = f"DURABLE_HTTP_POOLS has {route!r} without an http(s) address: route=address"
            raise ImproperlyConfigured(message)
    return found
