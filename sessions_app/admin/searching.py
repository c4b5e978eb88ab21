"""Searching: an id of any kind leads to its rows by one indexed column; other words are names."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, TypeVar

from django.contrib.admin.utils import lookup_spawns_duplicates
from django.db.models import Model, Q, QuerySet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Names:
    """How the rows of one model are named.

    `ids` has a column for each prefix of an id, `words` are columns that any other word may equal,
    and `session` leads to the Session, so that `namespace/session id` finds its rows.
    """

    ids: Mapping[str, str] = field(default_factory=dict)
    words: Sequence[str] = ()
    session: str | None = None

    def find(self, rows: QuerySet[M], term: str) -> QuerySet[M]:
        """Narrow the rows to those that the term names; an empty term names all.

        Where no row has the term as its id, it may still be somebody's name. A row may come
        several times when `may_repeat`.
        """
        if not term:
            return rows
        prefix, underscore, _ = term.partition("_")
        column = self.ids.get(prefix + underscore)
        if column is not None:
            exact = rows.filter(**{column: term})
            if exact.exists():
                return exact
        named = [Q((word, term)) for word in self.words] + self._in_session(term)
        return rows.filter(reduce(or_, named)) if named else rows.none()

    def may_repeat(self, model: type[Model]) -> bool:
        """Whether a word is looked for in a column of which a row has many."""
        return any(lookup_spawns_duplicates(model._meta, word) for word in self.words)

    def _in_session(self, term: str) -> list[Q]:
        if self.session is None:
            return []
        namespace, slash, name = term.partition("/")
        key = Q((f"{self.session}session_id", name if slash else term))
        return [key & Q((f"{self.session}namespace", namespace)) if slash else key]
