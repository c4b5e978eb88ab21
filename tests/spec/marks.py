"""Reads which test names what, from the text of the tests: nothing is imported or collected."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TESTS = Path(__file__).resolve().parents[1]
WORDS = frozenset({"covers", "poses"})


@dataclass(frozen=True, slots=True)
class Mark:
    """One name that one test gives: `covers` a requirement or `poses` a case."""

    word: str
    name: str
    test: str
    path: Path
    row: bool = False  # of a table of cases, so for one case of the test


@cache
def every_mark() -> tuple[Mark, ...]:
    """Read the marks of all tests, in the order of files and lines."""
    return tuple(mark for path in sorted(TESTS.rglob("test_*.py")) for mark in of_text(path))


def of_text(path: Path, text: str | None = None) -> list[Mark]:
    """Read the marks of one file: decorators, and rows of a table that a decorator names."""
    tree = ast.parse(path.read_text(encoding="utf-8") if text is None else text)
    tables = dict(_assignments(tree))
    return [
        Mark(word, name, node.name, path, row=_word(decorator) is None)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for decorator in node.decorator_list
        for word, name in _named(decorator, tables)
    ]


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case _:
                pass


def _named(given: ast.expr, tables: Mapping[str, ast.expr]) -> Iterator[tuple[str, str]]:
    """Yield every name that a `covers(...)` or `poses(...)` in the expression gives."""
    for node in ast.walk(given):
        word = _word(node)
        if isinstance(node, ast.Call) and word is not None:
            yield from ((word, ast.literal_eval(name)) for name in node.args)
        elif isinstance(node, ast.Name) and node.id in tables:
            yield from _named(tables[node.id], {})


def _word(node: ast.AST) -> str | None:
    """Say which of the two words a call is."""
    match node:
        case ast.Call(func=ast.Name(id=word)) if word in WORDS:
            return word
        case _:
            return None
