"""Pages of the admin as a browser's parser sees them."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from django.contrib.admin.utils import quote
from django.urls import reverse

if TYPE_CHECKING:
    from django.db.models import Model
    from django.test import Client


def list_of(model: type[Model]) -> str:
    """Give the address of a model's list."""
    return reverse(f"admin:sessions_app_{model._meta.model_name}_changelist")


def page_of(row: Model) -> str:
    """Give the address of a row's page."""
    name = f"admin:sessions_app_{type(row)._meta.model_name}_change"
    return reverse(name, args=[quote(row.pk)])


@dataclass
class Page(HTMLParser):
    """The elements, attributes and text of one page."""

    elements: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    inline: list[str] = field(default_factory=list)
    text: str = ""
    _inside: str = ""

    def __post_init__(self) -> None:
        """Begin with nothing read."""
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element, the names of its attributes, and what would run in it."""
        self._inside = tag
        self.elements.append((tag, tuple(sorted(name for name, _ in attrs))))
        for name, value in attrs:
            if name in {"href", "src", "action", "formaction"}:
                self.addresses.append(value or "")
            if name == "style" or name.startswith("on"):
                self.inline.append(f"{tag} {name}={value}")

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - the parser's signature
        """Leave the element."""
        self._inside = ""

    def handle_data(self, data: str) -> None:
        """Collect text; a script or style that is not empty is inline."""
        if self._inside in {"script", "style"} and data.strip():
            self.inline.append(f"{self._inside}: {data.strip()[:60]}")
        self.text += data


def read(client: Client, address: str) -> Page:
    """Open a page, which has to answer 200, and parse it."""
    response = client.get(address)
    assert response.status_code == 200, f"{address}: {response.status_code}"
    page = Page()
    page.feed(response.content.decode())
    page.close()
    return page
