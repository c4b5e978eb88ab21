"""Pages over tables of any size: rows are counted up to a bound, never all of them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from django.core.paginator import Paginator

if TYPE_CHECKING:
    from django.db.models import QuerySet

    _Paginator = Paginator[Any]
else:
    _Paginator = Paginator


class BoundedPaginator(_Paginator):
    """Lists the first 10,000 rows; whoever looks for others narrows the list."""

    most = 10_000

    @cached_property
    def count(self) -> int:
        """Rows, or the bound where there are more."""
        rows = cast("QuerySet[Any]", self.object_list).order_by().values("pk")
        return rows[: self.most].count()

    @property
    def is_cut(self) -> bool:
        """Whether there may be more rows than are listed."""
        return self.count == self.most
