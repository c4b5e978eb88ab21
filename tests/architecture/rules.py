"""The rules of the house that no ready-made tool knows, each a function over one parsed file.

A rule yields the lines that break it. Where it applies, and which files are excused for what
reason, stands in `test_rules.py`.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

LONGEST_FILE = 400
LONG_FILE = 300
LONGEST_FUNCTION = 50

# A statement about tables. One that only sets or reads a setting or the clock may stand in Python.
_SQL = re.compile(
    r"\s*(SELECT\s.*\sFROM\s|INSERT\s+INTO\s|UPDATE\s+\S+\s+SET\s|DELETE\s+FROM\s|"
    r"WITH\s+(RECURSIVE\s+)?\S+\s+AS\s.*\(|TRUNCATE\s|LOCK\s+TABLE\s|"
    r"(CREATE|ALTER|DROP)\s+(TABLE|INDEX|UNIQUE|DATABASE|FUNCTION|TRIGGER|VIEW|OR\s+REPLACE)\s)",
    re.DOTALL,
)
_QUERYSET_WRITES = frozenset(
    {"create", "acreate", "update", "aupdate", "delete", "adelete", "bulk_create", "abulk_create"}
)
_PLAIN_WRITES = frozenset(
    {
        *("save", "asave", "bulk_update", "abulk_update", "get_or_create", "aget_or_create"),
        *("update_or_create", "aupdate_or_create"),
    }
)
_QUERYSET_STEPS = frozenset(
    {
        "objects",
        "_base_manager",
        "_default_manager",
        "filter",
        "exclude",
        "all",
        "select_for_update",
    }
)
_CELERY_WAITS = frozenset({"eta", "countdown", "autoretry_for", "retry_backoff"})
_CELERY_RETRIES = frozenset({"max_retries", "default_retry_delay"})
_SENDING = frozenset({"send_task", "apply_async"})
_IMPURE_MODULES = ("time", "random", "uuid", "secrets", "os", "socket", "django.db", "django.utils")
_CLOCK_CALLS = frozenset({"now", "utcnow", "today"})
_OBJECT_GRAPH_MODULES = ("pickle", "marshal", "shelve", "dill", "cloudpickle")
_UNSAFE_TEXT = frozenset({"mark_safe", "SafeString", "SafeText"})
_CODES = r"[:\[ ]*[A-Za-z]+[0-9-]*[a-z-]*(,\s*[A-Za-z]+[0-9-]*[a-z-]*)*\]?"
_EXCUSE = re.compile(r"#\s*(noqa|type:\s*ignore)\b")
_REASONED_EXCUSE = re.compile(rf"#\s*(noqa|type:\s*ignore)\b{_CODES}[\s#-]+[\w`'\"]")
_OUTERMOST = re.compile(r"#.*\boutermost\b")


@dataclass(frozen=True)
class Source:
    """One Python file, read and parsed."""

    path: Path
    text: str
    tree: ast.Module

    @classmethod
    def parse(cls, text: str, path: Path = Path("example.py")) -> "Source":
        """Parse a text as if it stood in a file of that name."""
        return cls(path, text, ast.parse(text))

    @classmethod
    def read(cls, path: Path) -> "Source":
        """Read and parse a file."""
        return cls.parse(path.read_text(), path)

    @property
    def lines(self) -> list[str]:
        """The file's lines, without their ends."""
        return self.text.splitlines()


Rule = Callable[[Source], Iterator[int]]


def file_is_short(source: Source) -> Iterator[int]:
    """A file has at most 400 lines."""
    if len(source.lines) > LONGEST_FILE:
        yield len(source.lines)


def function_is_short(source: Source) -> Iterator[int]:
    """A function has at most 50 lines, its docstring included."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            last = node.end_lineno or node.lineno
            if last - node.lineno + 1 > LONGEST_FUNCTION:
                yield node.lineno


def orm_is_not_written(source: Source) -> Iterator[int]:
    """Rows are written in the store alone."""
    for call, name in _method_calls(source):
        if name in _PLAIN_WRITES or (name in _QUERYSET_WRITES and _is_on_a_queryset(call)):
            yield call.lineno


def no_sql_text(source: Source) -> Iterator[int]:
    """SQL stands in .sql files, where it can be read and explained."""
    yield from (line for line, text in _texts(source.tree) if _SQL.match(text))


def celery_waits_for_nothing(source: Source) -> Iterator[int]:
    """No wait, deadline or backoff rests on a message: no ETA, countdown or retry."""
    yield from (call.lineno for call, name in _method_calls(source) if name == "retry")
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and _has_keyword(node, _CELERY_WAITS):
            yield node.lineno
        for decorator in getattr(node, "decorator_list", ()):
            if isinstance(decorator, ast.Call) and _has_keyword(decorator, _CELERY_RETRIES):
                yield decorator.lineno


def nothing_is_sent(source: Source) -> Iterator[int]:
    """Only a transport sends, and it is called after the commit through the Wakeups port."""
    yield from (call.lineno for call, name in _method_calls(source) if name in _SENDING)


def nothing_is_delayed(source: Source) -> Iterator[int]:
    """No task is sent by its shortcut either."""
    yield from (call.lineno for call, name in _method_calls(source) if name == "delay")


def no_object_graphs(source: Source) -> Iterator[int]:
    """Nothing is stored or sent in a form that runs code when it is read."""
    yield from _imports_of(source, _OBJECT_GRAPH_MODULES)


def no_unescaped_text(source: Source) -> Iterator[int]:
    """No text skips the templates' escaping."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name | ast.Attribute | ast.alias):
            name = node.name if isinstance(node, ast.alias) else _name(node)
            if name in _UNSAFE_TEXT:
                yield node.lineno


def no_sleep(source: Source) -> Iterator[int]:
    """A test waits for a signal, never for a time; `asyncio.sleep(0)` only lets others run."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and node.module in {"time", "asyncio"}:
            yield from (node.lineno for alias in node.names if alias.name == "sleep")
    for call, name in _method_calls(source):
        zero = (
            len(call.args) == 1
            and isinstance(call.args[0], ast.Constant)
            and not call.args[0].value
        )
        if name == "sleep" and not zero:
            yield call.lineno


def decision_is_pure(source: Source) -> Iterator[int]:
    """The machine queries nothing, reads no clock and makes no id: `now` is an argument.

    What is imported for annotations alone, under TYPE_CHECKING, is no dependency.
    """
    for_types = {line for block in _type_checking_blocks(source) for line in block}
    imports = _imports_of(source, _IMPURE_MODULES)
    yield from (line for line in imports if line not in for_types)
    yield from (call.lineno for call, name in _method_calls(source) if name in _CLOCK_CALLS)


def errors_are_named(source: Source) -> Iterator[int]:
    """Only a loop's outermost frame catches everything, says so, or else raises it again."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ExceptHandler) and _catches_everything(node.type):
            again = isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None
            if not again and not _OUTERMOST.search(source.lines[node.lineno - 1]):
                yield node.lineno
        if isinstance(node, ast.Call) and _name(node.func) == "suppress":
            yield from (node.lineno for argument in node.args if _catches_everything(argument))


def excuses_have_reasons(source: Source) -> Iterator[int]:
    """An exception from a tool's rule says why."""
    for number, line in enumerate(source.lines, start=1):
        if _EXCUSE.search(line) and not _REASONED_EXCUSE.search(line):
            yield number


def _texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield every string literal with its line, an f-string as one, with `x` for its fields."""
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "x" for part in node.values]
        yield node.lineno, "".join(str(part) for part in parts)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.lineno, node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from _texts(child)


def _type_checking_blocks(source: Source) -> Iterator[range]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.If) and _name(node.test) == "TYPE_CHECKING":
            yield range(node.lineno, (node.body[-1].end_lineno or node.lineno) + 1)


def _has_keyword(call: ast.Call, names: frozenset[str]) -> bool:
    return any(keyword.arg in names for keyword in call.keywords)


def _method_calls(source: Source) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node, node.func.attr


def _is_on_a_queryset(call: ast.Call) -> bool:
    """Say whether a chain like `Turn.objects.filter(...).update(...)` leads to the call."""
    if not call.args and not call.keywords and _name(call.func) in {"delete", "adelete"}:
        return True
    node: ast.expr = call.func
    while isinstance(node, ast.Attribute | ast.Call):
        if isinstance(node, ast.Attribute) and node.attr in _QUERYSET_STEPS:
            return True
        node = node.func if isinstance(node, ast.Call) else node.value
    return False


def _imports_of(source: Source, modules: tuple[str, ...]) -> Iterator[int]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names}
            if isinstance(node, ast.ImportFrom):
                names = {str(node.module), *(f"{node.module}.{name}" for name in names)}
            if any(f"{name}.".startswith(f"{each}.") for name in names for each in modules):
                yield node.lineno


def _catches_everything(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(_catches_everything(each) for each in caught.elts)
    return caught is None or _name(caught) in {"Exception", "BaseException"}


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
