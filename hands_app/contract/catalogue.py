"""Catalogues: the tools that one process knows, found by name or by the digest of a binding."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from hands_app.contract.errors import Incompatible
from hands_app.contract.tools import Tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType


class Catalogue:
    """An unchanging set of tools; each name and version stands once (R208)."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._by_digest: dict[str, Tool] = {}
        self._by_version: dict[tuple[str, str], Tool] = {}
        for tool in tools:
            self._add(tool)

    def _add(self, tool: Tool) -> None:
        key = (tool.binding.name, tool.binding.version)
        known = self._by_version.setdefault(key, tool)
        if known is not tool and known.binding != tool.binding:
            message = f"tool {key[0]} version {key[1]} is registered with two bindings"
            raise ValueError(message)
        self._by_digest[tool.binding.digest] = tool
        for child in tool.children:
            self._add(child)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._by_version.values())

    def __len__(self) -> int:
        return len(self._by_version)

    def find(self, binding_digest: str) -> Tool | None:
        """Return the tool with exactly this binding, if this process has it."""
        return self._by_digest.get(binding_digest)

    def named(self, name: str) -> list[Tool]:
        """Return all versions of a tool, in the order of registration."""
        return [tool for tool in self if tool.name == name]

    def digests(self) -> list[str]:
        """Return the digest of every binding, sorted: what this process can run."""
        return sorted(self._by_digest)

    def on_route(self, *routes: str) -> Catalogue:
        """Return the part that runs on these routes."""
        return Catalogue(tool for tool in self if tool.binding.route in routes)

    def unchosen(self) -> list[str]:
        """Return the names of tools whose effect class nobody chose."""
        return sorted({tool.name for tool in self if not tool.effect_chosen})


def load_catalogue(modules: str) -> Catalogue:
    """Collect `tools` of modules named in a comma-separated text, as in `DURABLE_HANDS_TOOLS`.

    Raises:
        Incompatible: a module cannot be found or has no list `tools` of tools.
    """
    return Catalogue(
        tool for name in modules.split(",") if name.strip() for tool in _tools_of(name.strip())
    )


def _tools_of(module_name: str) -> list[Tool]:
    tools = getattr(_imported(module_name), "tools", None)
    if not isinstance(tools, list | tuple) or not all(isinstance(item, Tool) for item in tools):
        message = f"module {module_name} has no list `tools` of functions made tools by @tool"
        raise Incompatible(message)
    return list(tools)


def _imported(module_name: str) -> ModuleType:
    try:
        return import_module(module_name)
    except ModuleNotFoundError as error:
        message = f"module {module_name} of tools cannot be imported: there is no {error.name}"
        raise Incompatible(message) from error
