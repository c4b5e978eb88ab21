"""What every page of the admin shares: it only reads, at a cost that no number of rows raises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.core.exceptions import BadRequest, PermissionDenied
from django.db.models import CharField, TextField
from django.db.models.functions import Cast, Substr

from sessions_app.admin.columns import TOKENS, Row, json_column, links_to_lists, token_column
from sessions_app.admin.paging import BoundedPaginator
from sessions_app.admin.searching import Names
from sessions_app.models.fields import CanonicalJSON

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from django.db.models import Field, Model, QuerySet
    from django.db.models.expressions import Combinable
    from django.http import HttpRequest, HttpResponse

    _ModelAdmin = admin.ModelAdmin[Any]
    Shown = str | Callable[[Any], str]
    _Ordering = list[str | Combinable] | tuple[str | Combinable, ...] | None
else:
    _ModelAdmin = admin.ModelAdmin

PREVIEW = 120
NUL = "\x00"


class ReadOnly(_ModelAdmin):
    """A list and a detail page for one model; nobody may change a row, not even a superuser.

    `names` says what a search may name. `hidden` columns are private and shown to nobody (law 10).
    `preview` is a JSON column of which the list shows the beginning, cut in the database. `related`
    are the lists, with a word for each, that a detail page leads to, searched for its id.
    `computed` are methods whose outcome only the detail page shows.
    """

    names: ClassVar[Names] = Names()
    hidden: ClassVar[frozenset[str]] = frozenset()
    preview: ClassVar[str] = ""
    related: ClassVar[Sequence[tuple[str, str]]] = ()
    computed: ClassVar[Sequence[str]] = ()
    nothing: ClassVar[str] = "There is nothing here yet."

    actions = None
    ordering: ClassVar[_Ordering] = ("-id",)
    sortable_by = ()
    search_fields = ("id",)
    list_per_page = 50
    list_max_show_all = 0
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    paginator = BoundedPaginator
    empty_value_display = "\N{EN DASH}"

    def has_add_permission(self, request: HttpRequest, *args: object) -> bool:  # noqa: ARG002 - Django's signature
        """Rows are added by the runtime alone."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002 - Django's signature
        """Rows are changed by the runtime alone."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002 - Django's signature
        """Rows are deleted by retention alone."""
        return False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the list; whatever is posted to it is refused."""
        if request.method not in {"GET", "HEAD"}:
            raise PermissionDenied
        if any(NUL in value for values in request.GET.lists() for value in values[1]):
            msg = "a search or filter contains a NUL character"
            raise BadRequest(msg)
        return super().changelist_view(request, extra_context)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Model | None:
        """Give the row, or None for an id that no database could hold."""
        return None if NUL in object_id else super().get_object(request, object_id, from_field)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave out what may be large, and join what the columns name."""
        rows = super().get_queryset(request).defer(*_large(self.model))
        if self.list_select_related:
            rows = rows.select_related(*self.list_select_related)  # type: ignore[misc]  # a bool or a sequence
        if self.preview:
            beginning = Substr(
                Cast(self.preview, TextField()), 1, PREVIEW, output_field=CharField()
            )
            rows = rows.annotate(beginning=beginning)
        return rows

    def get_search_results(
        self,
        request: HttpRequest,  # noqa: ARG002 - Django's signature
        queryset: QuerySet[Any],
        search_term: str,
    ) -> tuple[QuerySet[Any], bool]:
        """Find by an id of any kind, or by a name."""
        term = search_term.strip()
        repeats = bool(term) and self.names.may_repeat(self.model)
        return self.names.find(queryset, term), repeats

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Shown]:  # type: ignore[override]  # noqa: ARG002 - a column may be made by a function
        """Show every column that is not hidden, tokens shortened and JSON as lines."""
        columns = [_shown(field) for field in _columns(self.model) if field.name not in self.hidden]
        return [*(["lists"] if self.related else []), *self.computed, *columns]

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Shown]:  # type: ignore[override]  # as above
        """Every field is one to read."""
        return self.get_fields(request, obj)

    @admin.display(description="related")
    def lists(self, row: Row) -> str:
        """Lead to the lists of what belongs to the row."""
        return links_to_lists(row.pk, self.related)

    @admin.display(description="content")
    def beginning(self, row: Row) -> str:
        """Give the first characters of the preview column."""
        text: str = row.beginning or ""
        return f"{text}\N{HORIZONTAL ELLIPSIS}" if len(text) == PREVIEW else text


def _columns(model: type[Model]) -> Sequence[Field[Any, Any]]:
    return model._meta.concrete_fields


def _large(model: type[Model]) -> list[str]:
    return [field.name for field in _columns(model) if isinstance(field, CanonicalJSON)]


def _shown(field: Field[Any, Any]) -> Shown:
    if isinstance(field, CanonicalJSON):
        return json_column(field.name)
    return token_column(field.name) if field.name in TOKENS else field.name
