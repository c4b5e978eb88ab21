"""What Sessions keep outside of the Brain's database: counted, removed, reconciled (T49, R199)."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from hands_app.contract import errors as hands
from hands_app.ledger import purging, reconciling
from hands_app.ledger.engine import Database
from hands_app.settings import read_environment
from sessions_app.contract.errors import Conflict, Invalid, NotFound, Unavailable
from sessions_app.store import bodies

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hands_app.contract.reconciling import Reconciliation


class HandsLedger:
    """The ledger of the Hands pools, which `HANDS_DATABASE_URL` names also for this process."""

    def count(self, _session_pk: str, executions: Sequence[str]) -> dict[str, int]:
        """See the port."""
        return self._asked(purging.count, executions)

    def remove(self, _session_pk: str, executions: Sequence[str]) -> dict[str, int]:
        """See the port."""
        return self._asked(purging.purge, executions)

    def reconcile(self, asked: Reconciliation) -> str:
        """See the port."""
        try:
            with closing(Database(read_environment().ledger_url)) as ledger:
                return reconciling.reconcile(ledger, asked).outcome.state
        except hands.NotFound as unknown:
            raise NotFound(str(unknown)) from unknown
        except hands.Conflict as refused:
            raise Conflict(str(refused)) from refused
        except hands.Rejected as wrong:
            raise Invalid(str(wrong)) from wrong
        except hands.HandsError as away:
            msg = f"the Hands ledger cannot be asked: {away}; nothing was recorded"
            raise Unavailable(msg) from away

    def _asked(
        self, what: Callable[[Database, Sequence[str]], dict[str, int]], executions: Sequence[str]
    ) -> dict[str, int]:
        if not executions:
            return {}
        try:
            with closing(Database(read_environment().ledger_url)) as ledger:
                return what(ledger, executions)
        except hands.Conflict as refused:
            raise Conflict(str(refused)) from refused
        except hands.HandsError as away:
            msg = f"the Hands ledger cannot be asked: {away}; nothing of the session was deleted"
            raise Unavailable(msg) from away


class Objects:
    """The object store, in which each Session has a scope of its own (R245)."""

    def count(self, session_pk: str, _executions: Sequence[str]) -> dict[str, int]:
        """See the port."""
        return self._asked(session_pk, remove=False)

    def remove(self, session_pk: str, _executions: Sequence[str]) -> dict[str, int]:
        """See the port."""
        return self._asked(session_pk, remove=True)

    def _asked(self, session_pk: str, *, remove: bool) -> dict[str, int]:
        try:
            store = bodies.ours(bodies.opened())
            names = [] if store is None else store.digests(session_pk)
            if store is None or not names:
                return {}
            return {"objects": store.remove(session_pk, names) if remove else len(names)}
        except hands.Unavailable as away:
            msg = f"{away}; nothing of the session was deleted"
            raise Unavailable(msg) from away
