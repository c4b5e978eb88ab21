"""The strict JSON loader, canonical form and digest."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hands_app.contract.errors import InvalidJson
from hands_app.contract.strict_json import (
    MARKER,
    JsonValue,
    Limits,
    canonical,
    check,
    clean,
    digest,
    loads,
    loads_lenient,
)
from tests.covers import poses

SAFE = 2**53
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
numbers = st.integers(-SAFE, SAFE) | st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda number: number != 0 or math.copysign(1, number) > 0
)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def same(left: object, right: object) -> bool:
    """Whether two values are equal in the sense of JSON, where true is not 1."""
    match left, right:
        case dict(), dict():
            return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
        case list(), list():
            return len(left) == len(right) and all(map(same, left, right))
        case _:
            return isinstance(left, bool) is isinstance(right, bool) and left == right


@given(values, values)
def test_digests_are_equal_exactly_when_values_are(left: JsonValue, right: JsonValue) -> None:
    """I17: equal JSON values have equal digests, unequal ones differ."""
    assert (digest(left) == digest(right)) is same(left, right)


@given(values)
def test_canonical_form_reads_back_as_the_same_value(value: JsonValue) -> None:
    """Loading a canonical form gives the value and the form again."""
    form = canonical(value)

    assert same(loads(form), value)
    assert canonical(loads(form)) == form


@given(values)
def test_spelling_does_not_change_the_digest(value: JsonValue) -> None:
    """Key order, blanks and escapes of a document do not reach its digest."""
    spelled = json.dumps(value, indent=2, ensure_ascii=True, sort_keys=False)

    assert digest(loads(spelled)) == digest(value)


def test_digest_is_the_same_in_every_process() -> None:
    """I17: another interpreter with another hash seed computes the same digest."""
    code = (
        "from hands_app.contract.strict_json import digest;"
        "print(digest({'b': [1.0, 0.1, 1e300], 'a': 'é', 'c': {'y': None, 'x': True}}))"
    )
    there = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }

    here = digest({"c": {"x": True, "y": None}, "a": "é", "b": [1, 0.1, 1e300]})

    assert there == {here}


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (1.0, b"1"),
        (0.1, b"0.1"),
        (1e16, b"1e+16"),
        (True, b"true"),
        ({"b": 1, "a": [], "é": {}}, '{"a":[],"b":1,"é":{}}'.encode()),
        ("\u2028\n", '"\u2028\\n"'.encode()),
    ],
)
def test_canonical_form_is_the_shortest(value: JsonValue, form: bytes) -> None:
    """Keys are sorted, nothing is blank, and 1.0 is 1."""
    assert canonical(value) == form


@poses("C15")
@pytest.mark.parametrize(
    "text",
    [
        "9007199254740993",
        "-9007199254740993",
        "1e400",
        "-1e400",
        "1e-400",
        "1e-99999999999999999999",
        "0e99999999999999999999",
        "-0",
        "-0.0",
        "-0e5",
        "NaN",
        "Infinity",
        "-Infinity",
        "0.10000000000000000001",
        "9007199254740993.0",
        "1" * 5000,
        "0." + "1" * 5000,
    ],
)
def test_a_number_that_would_change_is_refused(text: str) -> None:
    """C15: the message says to send a string."""
    with pytest.raises(InvalidJson, match="as a string") as refusal:
        loads(f'{{"a": [{text}]}}')

    assert refusal.value.reason == "NUMBER"


@poses("C15")
@pytest.mark.parametrize("text", ["9007199254740992", "1.0", "0.1", "1e2", "0.50", "1E+16", "0"])
def test_a_number_that_keeps_its_value_is_accepted(text: str) -> None:
    """C15: what survives canonical form comes in."""
    assert loads(text) == float(text)


@poses("C16")
@pytest.mark.parametrize(
    "text",
    ['{"a":1,"a":1}', '{"x":[{"y":{"a":1,"b":2,"a":3}}]}', '{"a":1,"\\u0061":2}'],
)
def test_a_key_that_stands_twice_is_refused(text: str) -> None:
    """C16: also when the two spellings differ by an escape."""
    with pytest.raises(InvalidJson) as refusal:
        loads(text)

    assert refusal.value.reason == "DUPLICATE_KEY"


@poses("C16")
@pytest.mark.parametrize("text", ["", " ", "{} {}", "1 2", "[1]]", "\ufeff{}", "{'a':1}", "[1,]"])
def test_anything_but_one_document_is_refused(text: str) -> None:
    """C16: exactly one root."""
    with pytest.raises(InvalidJson) as refusal:
        loads(text)

    assert refusal.value.reason == "SYNTAX"


@poses("C17")
@pytest.mark.parametrize("depth", [101, 1_000, 20_000, 200_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_too_many_levels_are_refused_in_bounded_time_and_memory(
    depth: int, opening: str, closing: str
) -> None:
    """C17: our own limit speaks before Python's, within 200 ms and with flat memory."""
    text = opening * depth + "1" + closing * depth
    tracemalloc.start()
    started = time.perf_counter()

    with pytest.raises(InvalidJson) as refusal:
        loads(text)

    elapsed = time.perf_counter() - started
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert refusal.value.reason in {"DEPTH", "KEYS"}
    assert elapsed < 0.2 * (5 if depth > 20_000 else 1)
    assert peak < 8 * len(text) + 100_000


@poses("C17")
def test_the_allowed_depth_is_accepted_by_text_and_value_alike() -> None:
    """C17: depth 100 comes in, 101 does not, whichever way."""
    allowed = loads("[" * 100 + "]" * 100)

    assert check(allowed) == allowed
    with pytest.raises(InvalidJson):
        check([allowed])


def test_brackets_inside_texts_are_no_depth() -> None:
    """Only structure counts as depth, whatever the texts hold."""
    assert loads(json.dumps(["[" * 5000 + '"\\' + "{" * 5000])) is not None


@poses("C17")
def test_large_documents_are_refused() -> None:
    """C17: a flat text of 10 MB and a million small keys."""
    with pytest.raises(InvalidJson, match="SIZE"):
        loads('"' + "a" * 10_000_000 + '"')
    with pytest.raises(InvalidJson, match="KEYS"):
        loads("{" + ",".join(f'"{n}":1' for n in range(500_000)) + "}")


def test_size_is_counted_in_bytes() -> None:
    """A text of wide characters is measured as UTF-8."""
    with pytest.raises(InvalidJson, match="SIZE"):
        loads('"éé"', limits=Limits(bytes=5))


def test_a_value_that_contains_itself_is_refused() -> None:
    """A circle ends at the depth limit, a shared part at the size limit."""
    circle: list[object] = []
    circle.append(circle)
    shared: list[object] = [1]
    for _ in range(60):
        shared = [shared, shared]

    with pytest.raises(InvalidJson, match="DEPTH"):
        check(circle)
    with pytest.raises(InvalidJson, match="SIZE"):
        check(shared, limits=Limits(bytes=100_000))


@pytest.mark.parametrize(
    "value", [{1: "a"}, (1, 2), {"a": {1, 2}}, b"a", object(), math.nan, math.inf, -0.0, 2**53 + 1]
)
def test_a_python_value_that_is_no_json_is_refused(value: object) -> None:
    """Values that never were text meet the same rules."""
    with pytest.raises(InvalidJson):
        check(value)


def test_the_refusal_names_the_place() -> None:
    """A breach in a value is named by its JSON pointer."""
    with pytest.raises(InvalidJson) as refusal:
        check({"a/b": [0, {"c": math.nan}]})

    assert refusal.value.where.startswith("/a~1b/1/c")


@poses("C13", "C14")
@pytest.mark.parametrize(
    "text", ['"a\\u0000b"', '{"a\\u0000":1}', '["\\ud83c"]', '{"a":{"\\udf78":1}}', '"\ud83c"']
)
def test_nul_and_lone_surrogates_are_refused_from_users(text: str) -> None:
    """C13, C14: refused before anything is written."""
    with pytest.raises(InvalidJson) as refusal:
        loads(text)

    assert refusal.value.reason in {"NUL", "SURROGATE"}


@poses("C14")
def test_an_escaped_pair_becomes_one_character() -> None:
    """C14: the legal pair is one character for users and tools alike."""
    assert loads('"\\ud83c\\udf78"') == "🍸"
    assert clean("\ud83c\udf78").value == "🍸"


@poses("C13", "C14")
def test_tools_and_models_get_a_marker_for_what_cannot_be_kept() -> None:
    """C13, C14: NUL and lone halves become the marker once, and the caller is told."""
    read = loads_lenient('{"a\\u0000": ["x\\ud83c", "fine"]}')
    produced = clean({"a\0": ["x\ud83c", "fine"]})

    assert read == produced
    assert read.value == {f"a{MARKER}": [f"x{MARKER}", "fine"]}
    assert read.changed
    assert loads(canonical(read.value)) == read.value


def test_no_member_is_lost_when_cleaned_keys_meet() -> None:
    """Keys that become equal are told apart by a further marker."""
    cleaned = clean({"a\0": 1, f"a{MARKER}": 2, "a\ud800": 3}).value

    assert isinstance(cleaned, dict)
    assert sorted(map(str, cleaned.values())) == ["1", "2", "3"]


def test_bytes_that_are_no_utf8() -> None:
    """Users are refused; a tool's bytes come in with markers."""
    with pytest.raises(InvalidJson, match="UTF-8"):
        loads(b'"\xff"')
    assert loads_lenient(b'"\xff"').value == MARKER
    assert loads_lenient(b'"\xff"').changed


@given(
    st.recursive(
        st.text() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_a_cleaned_value_is_always_strict(value: JsonValue) -> None:
    """Whatever texts a tool produces, its cleaned value passes every strict entrance."""
    cleaned = clean(value)

    assert same(loads(canonical(cleaned.value)), cleaned.value)
