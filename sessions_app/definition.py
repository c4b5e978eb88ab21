"""What the definition of an agent says, as one digest: other content needs another version (C39).

It is read from the source: the factory, whatever it names at the top level of its own module, and
the bindings of its tools. Nothing is built or called, and neither comments nor what differs from
one environment to another (addresses, keys) changes it. Texts kept in other files are not seen.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hands_app.contract.strict_json import JsonValue, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hands_app.contract.binding import ToolBinding

Function = ast.FunctionDef | ast.AsyncFunctionDef


def digest_of(harness: str, build: Callable[..., Any], bindings: Mapping[str, ToolBinding]) -> str:
    """The same in every process and environment that has the same code."""
    tools: dict[str, JsonValue] = {name: tool.to_json() for name, tool in bindings.items()}
    return digest([harness, list(_said_by(build)), tools])


def _said_by(build: Callable[..., Any]) -> tuple[str, ...]:
    code = getattr(inspect.unwrap(build), "__code__", None)
    said = _said(code.co_filename, code.co_name, code.co_firstlineno) if code else ()
    return said or (f"{build.__module__}.{getattr(build, '__qualname__', type(build).__name__)}",)


@lru_cache(maxsize=1024)
def _said(file: str, name: str, line: int) -> tuple[str, ...]:
    """The factory and what it names, in the order of naming; nothing where no source is there."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ()
    top = {bound: node for node in tree.body for bound in _binds(node)}
    said, todo = [], [_without_decorators(node) for node in ast.walk(tree) if _is(node, name, line)]
    while todo:
        node = todo.pop(0)
        text = ast.unparse(node)
        if text not in said:
            said.append(text)
            found = [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
            todo += [top[each] for each in found if each in top]
    return tuple(said)


def _is(node: ast.AST, name: str, line: int) -> bool:
    """Whether this piece of source became the code of this name and first line."""
    if isinstance(node, Function):
        first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        return (node.name, first) == (name, line)
    return isinstance(node, ast.Lambda) and ("<lambda>", node.lineno) == (name, line)


def _without_decorators(node: ast.AST) -> ast.AST:
    """They name version and limits, which are no content."""
    if isinstance(node, Function):
        node.decorator_list = []
    return node


def _binds(node: ast.stmt) -> Iterator[str]:
    """Names that a statement gives a meaning to."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from ((alias.asname or alias.name).split(".")[0] for alias in names)
        case ast.Assign(targets=targets):
            yield from (
                inner.id for at in targets for inner in ast.walk(at) if isinstance(inner, ast.Name)
            )
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case _:
            return
