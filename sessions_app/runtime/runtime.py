"""DurableRuntime: the thread-safe entry for business calls. Reading and submitting need no start.

    with DurableRuntime() as runtime:
        session = runtime.create_session("acme", "ticket-7", agent="night-report")
        turn = session.submit("request-1", "Summarise the logs of last night")
        print(turn.wait(60).result)

Brains run elsewhere. The database is the only authority, so every process may have a runtime of its
own, and handles made by one are rebuilt by another from the ids that the application stored.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self, Unpack

from asgiref.sync import sync_to_async

from hands_app.contract.strict_json import digest
from sessions_app.contract.decisions import (
    RuleDraft,
    RuleScope,
    checked_actor,
    checked_json,
    checked_reason,
)
from sessions_app.contract.identity import MAIN_THREAD, SessionKey, checked_name
from sessions_app.machine.repinning import Operator
from sessions_app.runtime import definitions, observing, reconciling, schema, versions
from sessions_app.runtime.futures import Futures
from sessions_app.runtime.sessions import SessionHandle
from sessions_app.runtime.turns import TurnHandle
from sessions_app.runtime.twins import twin
from sessions_app.store import admission, asked, reads, rules
from sessions_app.streaming.subscriptions import PARALLELISM

if TYPE_CHECKING:
    from types import TracebackType

    from hands_app.contract.reconciling import Reconciliation
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.identity import ThreadKey
    from sessions_app.contract.paging import Page
    from sessions_app.contract.reconciling import ReconciledView
    from sessions_app.contract.versions import (
        Capabilities,
        DefinitionView,
        RepinView,
        VersionView,
    )
    from sessions_app.contract.views import InteractionView, RuleView, SessionView
    from sessions_app.ports import Executor


class DurableRuntime:
    """One a process is enough; safe under threads and on event loops. Starts nothing.

    Close order: subscriptions, then the runtime, then the backend (R244). Closing ends waits and
    cancels no work (R023); the database connections are Django's and stay open. Raises StaleSchema
    for a database that is not migrated and Unavailable for one that cannot be asked.
    """

    def __init__(
        self,
        *,
        executor: Executor | None = None,
        observer_parallelism: int = PARALLELISM,
    ) -> None:
        """Check the schema and open nothing else.

        `executor` carries questions about output to Hands; without one the broker does.
        `observer_parallelism` is how many callbacks of subscriptions may run at once.
        """
        schema.check()
        self.executor = executor
        self.closed = threading.Event()
        self.futures = Futures(self.closed)
        self.observers = observing.observers(observer_parallelism)

    def create_session(
        self, namespace: str, session_id: str, *, agent: str, version: str | None = None
    ) -> SessionHandle:
        """Make a Session with its main Thread; an identical create adds nothing (R025, R026).

        Without a version the Thread is pinned to the newest one known here. Raises Invalid for an
        unknown agent or version and Conflict for a Session that is pinned to something else.
        """
        key = SessionKey(namespace, session_id)
        main = key.thread(MAIN_THREAD)
        definitions.create(main, agent, version, lambda pin: admission.create_session(key, pin))
        return SessionHandle(key, self)

    def get_session(self, namespace: str, session_id: str) -> SessionHandle:
        """A Session; raises NotFound."""
        key = SessionKey(namespace, session_id)
        reads.session(key)
        return SessionHandle(key, self)

    def list_sessions(
        self, namespace: str, cursor: str | None = None, limit: int = 100
    ) -> Page[SessionView]:
        """Sessions of one namespace, the oldest first."""
        return reads.sessions(checked_name("namespace", namespace), cursor, limit)

    def find_turn(self, turn_id: str) -> TurnHandle:
        """A Turn of any namespace, for operators who hold only its id; raises NotFound."""
        return TurnHandle(reads.turn(turn_id).key, turn_id, self)

    def inbox(
        self,
        namespace: str,
        cursor: str | None = None,
        limit: int = 100,
        *,
        set_aside: bool = False,
    ) -> Page[InteractionView]:
        """What people of a namespace can answer now, over all its Sessions; see `set_aside`."""
        checked = checked_name("namespace", namespace)
        return asked.inbox(checked, cursor, limit, set_aside=set_aside)

    def find_interaction(self, interaction_id: str) -> InteractionView:
        """An interaction of any namespace, for operators who hold only its id; raises NotFound."""
        return asked.interaction(interaction_id)

    def create_rule(
        self,
        namespace: str,
        tool: str,
        *,
        allow: bool,
        by: str,
        arguments: JsonValue = None,
        **scope: Unpack[RuleScope],
    ) -> RuleView:
        """Answer later approvals of a tool ahead, from now on (audited).

        `agent` and `session_id` narrow the scope, `arguments` to exactly these; `expires_at` ends
        it. A rule that denies goes before rules that allow. Raises Invalid or NotFound.
        """
        exactly = None if arguments is None else digest(checked_json("arguments", arguments))
        draft = RuleDraft(namespace, tool, allow, by, arguments_digest=exactly, **scope)
        return rules.create(draft)

    def revoke_rule(self, namespace: str, rule_id: str, *, by: str, reason: str = "") -> RuleView:
        """Let a rule answer nothing from now on (audited); twice is once. Raises NotFound."""
        return rules.revoke(namespace, rule_id, checked_actor(by), checked_reason(reason))

    def list_rules(
        self, namespace: str, cursor: str | None = None, limit: int = 100, *, past: bool = False
    ) -> Page[RuleView]:
        """Standing rules in force, the oldest first; with `past` those that were."""
        return rules.listed(checked_name("namespace", namespace), cursor, limit, past=past)

    def capabilities(self) -> Capabilities:
        """What this assembly can do; asks nobody (R249)."""
        return versions.capabilities()

    def definition(self, agent: str, version: str) -> DefinitionView:
        """One frozen version; claims nothing, builds nothing, asks no model (R250)."""
        return versions.definition(agent, version)

    def versions(self, agent: str | None = None) -> list[VersionView]:
        """Who still needs which version, and who could run it."""
        return versions.needed(agent)

    def repin(
        self,
        thread: ThreadKey,
        version: str,
        *,
        dry_run: bool = True,
        actor: str = "",
        reason: str = "",
    ) -> RepinView:
        """Move a Thread to another version of its agent, or say what stands against it.

        Raises NotFound, Invalid for a version that is not known here, and Conflict, with nothing
        written, when something stands against it; a dry run tells it instead.
        """
        operator = None if dry_run else Operator(actor, reason)
        return versions.repin(thread, version, operator)

    def reconcile(self, asked: Reconciliation, *, ledger_lost: bool = False) -> ReconciledView:
        """End an UNKNOWN call as it was verified, wherever it ran; the caller answers for it.

        Once for its request id. `ledger_lost`: the ledger of its pool does not know it any more,
        record it in the Brain alone. Raises NotFound, Conflict unless it is UNKNOWN, Invalid and
        Unavailable; nothing was written then.
        """
        return reconciling.reconcile(asked, ledger_lost=ledger_lost)

    def close(self) -> None:
        """End subscriptions, then waits of this runtime; closing twice is harmless.

        A callback that runs may finish; it is waited for, unless this is called from inside it.
        """
        self.closed.set()
        self.observers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await sync_to_async(self.close, thread_sensitive=False)()

    acreate_session = twin(create_session)
    aget_session = twin(get_session)
    alist_sessions = twin(list_sessions)
    afind_turn = twin(find_turn)
    acapabilities = twin(capabilities)
    adefinition = twin(definition)
    aversions = twin(versions)
    arepin = twin(repin)
    ainbox = twin(inbox)
    afind_interaction = twin(find_interaction)
    acreate_rule = twin(create_rule)
    areconcile = twin(reconcile)
    arevoke_rule = twin(revoke_rule)
    alist_rules = twin(list_rules)
