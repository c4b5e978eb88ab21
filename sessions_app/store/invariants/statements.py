"""The statements of `sql/*.sql`. Each begins with a line `-- I<number>: <text of the breach>`.

A statement gives one row for each breach; its column `place` says where, the others fill the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from django.db import connection

from sessions_app.store.invariants.report import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sessions_app.store.invariants.look import Look

_FOLDER: Final = Path(__file__).parent / "sql"
_HEAD: Final = re.compile(r"^-- I(\d+): (.+)$", re.MULTILINE)
_BATCH: Final = 100


@dataclass(frozen=True, slots=True)
class Statement:
    """One rule about rows, as SQL that runs on both databases."""

    number: int
    text: str
    sql: str

    def find(self, look: Look) -> Iterator[Breach]:
        """Give a breach for each row found; what nobody asks for stays in the database."""
        with connection.chunked_cursor() as cursor:
            cursor.execute(self.sql, look.parameters)
            while rows := cursor.fetchmany(_BATCH):
                names = [column[0] for column in cursor.description]
                for row in rows:
                    facts = dict(zip(names, row, strict=True))
                    yield Breach(self.number, facts["place"], self.text.format_map(facts))


def statements(name: str) -> tuple[Statement, ...]:
    """Read the statements of one file, in its order."""
    _, *parts = _HEAD.split((_FOLDER / f"{name}.sql").read_text())
    found = zip(parts[0::3], parts[1::3], parts[2::3], strict=True)
    return tuple(
        Statement(int(number), text, sql.strip().rstrip(";")) for number, text, sql in found
    )
