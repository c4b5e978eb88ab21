"""The house keeps its own rules, and each rule finds what it forbids."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.architecture import rules
from tests.architecture.rules import Rule, Source

_ROOT = Path(__file__).resolve().parents[2]
_PRODUCT = ("durable_site", "sessions_app", "hands_app")
_ALL = (*_PRODUCT, "tests")
_HOUSES = ("sessions_app", "hands_app")

APPLIED: list[tuple[Rule, tuple[str, ...], dict[str, str]]] = [
    (rules.file_is_short, _ALL, {"*/migrations/*": "generated"}),
    (rules.function_is_short, _ALL, {"*/migrations/*": "generated"}),
    (
        rules.orm_is_not_written,
        ("durable_site", "sessions_app"),
        {
            "sessions_app/store/*": "its one place",
            "*/migrations/*": "rows that tables begin with",
            "durable_site/embedded/signin.py": "the operator's account is Django's own row",
        },
    ),
    (
        rules.no_sql_text,
        _PRODUCT,
        {
            "*/migrations/*": "what migrations are for",
            "durable_site/embedded/servers.py": "it makes databases, before there is a store",
        },
    ),
    (rules.celery_waits_for_nothing, _PRODUCT, {}),
    (rules.nothing_is_sent, _HOUSES, {"*/transports/*": "the adapters of the sending ports"}),
    (rules.nothing_is_delayed, ("sessions_app/store",), {}),
    (rules.no_object_graphs, _ALL, {"tests/chaos/letters.py": "a forged letter holds one"}),
    (rules.no_unescaped_text, _ALL, {"tests/architecture/*": "it names them"}),
    (
        rules.no_sleep,
        ("tests",),
        {
            "tests/benchmarks/*": "a load generator keeps a pace",
            "tests/integration/store/test_extension_points.py": "it proves that sleep is refused",
        },
    ),
    (rules.decision_is_pure, ("sessions_app/machine", "hands_app/machine"), {}),
    (rules.errors_are_named, _ALL, {}),
    (rules.excuses_have_reasons, _ALL, {"tests/architecture/*": "examples"}),
]

EXAMPLES: list[tuple[Rule, str, str]] = [
    (rules.file_is_short, "x = 1\n" * 401, "x = 1\n" * 400),
    (
        rules.function_is_short,
        "def f():\n" + "    x = 1\n" * 50,
        "def f():\n" + "    x = 1\n" * 49,
    ),
    (rules.orm_is_not_written, "Turn.objects.filter(pk=1).update(a=1)", "{}.update(a=1)"),
    (rules.orm_is_not_written, "turn.save()", "turn.saved()"),
    (rules.orm_is_not_written, "turn.delete()", "client.delete('key')"),
    (rules.no_sql_text, "q = 'SELECT a FROM b'", "q = 'SELECT durable_now()'"),
    (rules.no_sql_text, "q = 'WITH a AS MATERIALIZED (SELECT 1)'", "q = 'Select it from here'"),
    (rules.no_sql_text, "q = f'UPDATE {t} SET a = 1'", "q = 'Update the set'"),
    (rules.celery_waits_for_nothing, "f.apply_async(countdown=1)", "f(wait=1)"),
    (rules.celery_waits_for_nothing, "self.retry()", "retry()"),
    (
        rules.celery_waits_for_nothing,
        "@task(max_retries=3)\ndef f(): ...",
        "Client(max_retries=0)",
    ),
    (rules.nothing_is_sent, "app.send_task('x')", "wakeups.ring('x')"),
    (rules.nothing_is_delayed, "advance.delay(1)", "delay(1)"),
    (rules.no_object_graphs, "import pickle", "import json"),
    (rules.no_unescaped_text, "from x import mark_safe", "from x import format_html"),
    (rules.no_unescaped_text, "safestring.mark_safe(a)", "a.mark(safe)"),
    (rules.no_sleep, "import time\ntime.sleep(0.1)", "import asyncio\nasyncio.sleep(0)"),
    (rules.no_sleep, "from time import sleep", "from time import monotonic"),
    (rules.decision_is_pure, "import time", "from datetime import datetime"),
    (
        rules.decision_is_pure,
        "from django.db import models",
        "if TYPE_CHECKING:\n    from django.db import models",
    ),
    (rules.decision_is_pure, "datetime.now(UTC)", "now + delay"),
    (
        rules.errors_are_named,
        "try:\n    f()\nexcept Exception:\n    pass",
        "try:\n    f()\nexcept Exception:  # outermost: goes on with the next\n    pass",
    ),
    (
        rules.errors_are_named,
        "try:\n    f()\nexcept (A, Exception):  # noqa: BLE001 - so it is\n    pass",
        "try:\n    f()\nexcept BaseException:\n    g()\n    raise",
    ),
    (rules.errors_are_named, "suppress(Exception)", "suppress(KeyError)"),
    (rules.excuses_have_reasons, "x = 1  # noqa: S603", "x = 1  # noqa: S603 - our own"),
    (rules.excuses_have_reasons, "x = 1  # noqa: S603, E501", "x = 1  # noqa: S603, E501 why"),
    (
        rules.excuses_have_reasons,
        "x = 1  # type: ignore[misc]",
        "x = 1  # type: ignore[misc]  # the stubs are wrong",
    ),
]


def _rule_name(value: object) -> str:
    return getattr(value, "__name__", "")


@pytest.mark.parametrize(("rule", "rooms", "excused"), APPLIED, ids=_rule_name)
def test_house_keeps_the_rule(rule: Rule, rooms: tuple[str, ...], excused: dict[str, str]) -> None:
    """No file outside the excused ones breaks the rule."""
    breaches = [
        f"{source.path.relative_to(_ROOT)}:{line}"
        for source in _sources(rooms)
        if not _matches(source.path, excused)
        for line in rule(source)
    ]

    assert breaches == [], rule.__doc__


@pytest.mark.parametrize(("rule", "bad", "good"), EXAMPLES, ids=_rule_name)
def test_rule_tells_bad_from_good(rule: Rule, bad: str, good: str) -> None:
    """The rule finds a planted breach and lets its harmless neighbour be."""
    assert list(rule(Source.parse(bad)))
    assert list(rule(Source.parse(good))) == []


def test_templates_switch_no_escaping_off() -> None:
    """No template prints a text as it is."""
    folders = [_ROOT / "templates", *_ROOT.glob("*/templates")]
    pages = [page for folder in folders for page in folder.rglob("*.html")]

    unsafe = [page for page in pages if any(w in page.read_text() for w in ("|safe", "autoescape"))]

    assert unsafe == []


def _sources(rooms: tuple[str, ...]) -> Iterator[Source]:
    for room in rooms:
        for path in sorted((_ROOT / room).rglob("*.py")):
            yield Source.read(path)


def _matches(path: Path, patterns: dict[str, str]) -> bool:
    """Say whether a pattern fits; its star stands for folders as well."""
    name = path.relative_to(_ROOT).as_posix()
    return any(fnmatchcase(name, pattern) for pattern in patterns)
