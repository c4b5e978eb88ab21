"""What stands in the tables: counted, weighed, multiplied, and held against the invariants."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from django.apps import apps
from django.db import connection, models

from sessions_app.models import Session, Thread, Turn
from sessions_app.store.invariants import check

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.benchmarks.workloads import Figures

_CLONED: Final = (Session, Thread, Turn)
_TABLES: Final = (
    "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname LIKE %s AND relkind = 'r'"
)


@dataclass(frozen=True, slots=True)
class Weight:
    """Rows, and what they weigh without indexes."""

    rows: int = 0
    bytes: int = 0

    def __add__(self, other: Weight) -> Weight:
        return Weight(self.rows + other.rows, self.bytes + other.bytes)


def size() -> int:
    """Bytes on disk of all tables of the Brain, indexes included."""
    with connection.cursor() as cursor:
        cursor.execute(_TABLES, ["sessions_app_%"])
        return int(cursor.fetchone()[0])


def of_turns(
    turn_ids: Sequence[str], begin: float | None = None, end: float | None = None
) -> Weight:
    """All rows of these Turns, or those that were written between two moments."""
    return sum(by_table(turn_ids, begin, end).values(), Weight())


def by_table(
    turn_ids: Sequence[str], begin: float | None = None, end: float | None = None
) -> dict[str, Weight]:
    """The same, table by table."""
    found = {}
    for model, column in _tables():
        name = model._meta.db_table
        within = (
            f" AND {_written(model)} BETWEEN %s AND %s"
            if begin is not None and end is not None
            else ""
        )
        text = f"SELECT count(*), coalesce(sum(pg_column_size(t.*)), 0) FROM {name} t WHERE {column} = ANY(%s){within}"  # noqa: S608, E501 - our own names
        moments = [datetime.fromtimestamp(each, UTC) for each in (begin, end) if each is not None]
        with connection.cursor() as cursor:
            cursor.execute(text, [list(turn_ids), *moments])
            found[name.removeprefix("sessions_app_")] = Weight(*map(int, cursor.fetchone()))
    return found


def proof() -> Figures:
    """`durable check` over everything, and rows of each kind that every finished Turn left."""
    report = check()
    assert not report.breaches, report.breaches[:5]
    ended = Turn.objects.filter(status="COMPLETED", request_id__startswith="turn-")
    turn_ids = list(ended.values_list("pk", flat=True))
    found = {
        f"{name} rows/turn": weight.rows / len(turn_ids)
        for name, weight in by_table(turn_ids).items()
        if weight.rows
    }
    return {
        "breaches": 0.0,
        "invariants checked": float(len(report.checked)),
        "turns": float(len(turn_ids)),
        **found,
    }


def clone(turn_id: str, begin: int, end: int) -> None:
    """Copy a finished Turn with its Thread and Session, as the numbers from `begin` on."""
    turn = Turn.objects.get(pk=turn_id)
    for model, pk in zip(_CLONED, (turn.session_id, turn.thread_id, turn.pk), strict=True):
        names = [f'"{field.column}"' for field in model._meta.concrete_fields]
        values = [_cloned(field) for field in model._meta.concrete_fields]
        table = model._meta.db_table
        text = f"SET session_replication_role = replica; INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(values)} FROM {table}, generate_series({begin + 1}, {end}) n WHERE id = '{pk}'"  # noqa: S608, E501 - our own names
        _run(text)
    _run("SET session_replication_role = origin")


def forget_statistics() -> None:
    """Let the planner believe for good that the tables are empty, the worst that it can know."""
    for model in _CLONED:
        table = model._meta.db_table
        _run(f"ALTER TABLE {table} SET (autovacuum_enabled = false); ANALYZE {table}")


def learn_statistics() -> None:
    """Let it know what stands there."""
    for model in _CLONED:
        _run(f"ANALYZE {model._meta.db_table}")


def _cloned(field: models.Field[object, object]) -> str:
    """A copied column; what must differ between copies gets the copy's number."""
    related = field.related_model if field.is_relation else None
    if field.primary_key or related in _CLONED or field.name == "session_id":
        return f"\"{field.column}\" || '_' || n"
    return f'"{field.column}"'


def _written(model: type[models.Model]) -> str:
    """The column that says when a row came into being: the first of its times."""
    times = [field for field in model._meta.fields if isinstance(field, models.DateTimeField)]
    return str(times[0].column)


def _tables() -> Iterator[tuple[type[models.Model], str]]:
    """Every table of the Brain whose rows belong to a Turn, with the column that says so."""
    for model in apps.get_app_config("sessions_app").get_models():
        names = {field.name for field in model._meta.fields}
        if model is Turn:
            yield model, "id"
        elif "turn" in names or "turn_id" in names:
            yield model, "turn_id"


def _run(text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(text)
