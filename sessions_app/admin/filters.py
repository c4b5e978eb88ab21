"""A filter that takes a word: listing every value would read the whole table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.contrib.admin.views.main import ChangeList
    from django.db.models import QuerySet
    from django.http import HttpRequest


class WordFilter(admin.ListFilter):
    """Narrow a list to the rows whose column is exactly the word typed in."""

    template = "admin/sessions_app/word_filter.html"
    parameter: ClassVar[str]
    column: ClassVar[str]

    def __init__(
        self,
        request: HttpRequest,
        params: dict[str, list[str]],
        model: type[Any],
        model_admin: admin.ModelAdmin[Any],
    ) -> None:
        """Take the word out of the request's parameters."""
        super().__init__(request, params, model, model_admin)
        self.word = params.pop(self.parameter, [""])[-1].strip()
        if self.word:
            self.used_parameters[self.parameter] = self.word

    def has_output(self) -> bool:
        """The field to type into is always there."""
        return True

    def expected_parameters(self) -> list[str | None]:
        """Name the parameter that this filter answers to."""
        return [self.parameter]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002 - Django's signature
        """Narrow the rows, if there is a word."""
        return queryset.filter(**{self.column: self.word}) if self.word else queryset

    def choices(self, changelist: ChangeList) -> Iterator[dict[str, Any]]:
        """Give the other parameters, which the form sends along."""
        others = changelist.get_filters_params().items()
        kept = [(name, value) for name, values in others for value in values]
        kept = [pair for pair in kept if pair[0] != self.parameter]
        if changelist.query:
            kept.append(("q", changelist.query))
        yield {"kept": kept, "without": changelist.get_query_string(remove=[self.parameter])}


def word_filter(parameter: str, column: str = "") -> type[WordFilter]:
    """Make the filter of one column; `column` may lead over joins."""
    members = {"title": parameter, "parameter": parameter, "column": column or parameter}
    return type(f"{parameter.title()}Filter", (WordFilter,), members)
