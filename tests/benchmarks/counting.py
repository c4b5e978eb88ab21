"""Counts what is said to a database: each statement with its kind and table, and each commit."""

from __future__ import annotations

import re
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from django.db import connection
from sqlalchemy import event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from hands_app.ledger.engine import Database as Ledger

_FRAME: Final = ("BEGIN", "COMMIT", "ROLLBACK")
_TABLE: Final = re.compile(r'\b(?:FROM|INTO|UPDATE)\s+"?([a-z_]+)"?(?!\s*\()', re.IGNORECASE)
_COMMENT: Final = re.compile(r"--[^\n]*\n")
_APP: Final = re.compile(r"^(sessions_app|hands)_")


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing said to the database, and how long its answer took."""

    text: str
    seconds: float = 0.0

    @property
    def verb(self) -> str:
        """The statement's first word; a locking read is a LOCK."""
        words = _COMMENT.sub("", self.text).split()
        verb = words[0].upper().rstrip(";") if words else ""
        return "LOCK" if verb == "SELECT" and " FOR " in f" {' '.join(words[-8:])} " else verb

    @property
    def table(self) -> str:
        """The table it is about, without our prefix."""
        if "durable_now()" in self.text and "FROM" not in self.text.upper():
            return "clock"
        found = _TABLE.search(_COMMENT.sub("", self.text))
        return _APP.sub("", found.group(1)) if found else "-"

    @property
    def is_frame(self) -> bool:
        """Whether it only begins or ends a transaction."""
        return self.verb in _FRAME


@dataclass(slots=True)
class Operation:
    """One call of the store, with all that it said."""

    name: str
    statements: list[Statement] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Statements, without BEGIN and COMMIT."""
        return sum(not said.is_frame for said in self.statements)

    @property
    def commits(self) -> int:
        """Transactions that were committed."""
        return sum(said.verb == "COMMIT" for said in self.statements)

    @property
    def round_trips(self) -> int:
        """Everything that waits for an answer of the server."""
        return len(self.statements)

    @property
    def cost(self) -> Cost:
        """The figures that a budget names."""
        return Cost(self.count, self.commits)

    def kinds(self) -> Counter[str]:
        """How often each kind of statement was said, about each table."""
        said = (each for each in self.statements if not each.is_frame)
        return Counter(f"{each.verb} {each.table}" for each in said)


@dataclass(frozen=True, slots=True, order=True)
class Cost:
    """What an operation may cost."""

    statements: int
    commits: int

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.statements + other.statements, self.commits + other.commits)

    def __str__(self) -> str:
        return f"({self.statements}, {self.commits})"


def total(operations: Iterable[Operation]) -> Cost:
    """What operations cost together."""
    return sum((operation.cost for operation in operations), Cost(0, 0))


@contextmanager
def recorded(name: str) -> Iterator[Operation]:
    """Record what the current thread says to Django's database."""
    operation = Operation(name)
    connection.ensure_connection()
    before, connection.force_debug_cursor = connection.force_debug_cursor, True
    connection.queries_log.clear()
    taken: list[float] = []
    try:
        with connection.execute_wrapper(partial(_timed, taken)):
            yield operation
    finally:
        connection.force_debug_cursor = before
        operation.statements += _statements(connection.queries_log, taken)


def _timed(taken: list[float], execute: Callable[..., Any], *given: Any) -> Any:
    began = time.perf_counter()
    try:
        return execute(*given)
    finally:
        taken.append(time.perf_counter() - began)


def _statements(log: Iterable[dict[str, Any]], taken: list[float]) -> Iterator[Statement]:
    """Put finer times to what Django logs, which knows those of BEGIN and COMMIT alone."""
    times = iter(taken)
    for query in log:
        text = str(query["sql"])
        yield Statement(text, float(query["time"]) if text in _FRAME else next(times))


@contextmanager
def recorded_ledger(name: str, ledger: Ledger) -> Iterator[Operation]:
    """Record what is said to the ledger of a Hands pool."""
    operation = Operation(name)

    def said(_connection: object, _cursor: object, text: str, *_: object) -> None:
        operation.statements.append(Statement(text))

    def committed(_connection: object) -> None:
        operation.statements.append(Statement("COMMIT"))

    event.listen(ledger.engine, "before_cursor_execute", said)
    event.listen(ledger.engine, "commit", committed)
    try:
        yield operation
    finally:
        event.remove(ledger.engine, "before_cursor_execute", said)
        event.remove(ledger.engine, "commit", committed)
