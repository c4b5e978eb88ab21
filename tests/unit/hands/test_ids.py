"""Identities."""

from __future__ import annotations

import pytest

from hands_app.contract.ids import execution_id, is_id, new_id
from tests.covers import poses


def test_new_ids_sort_in_the_order_of_their_making() -> None:
    """UUIDv7: later ids of a process are greater, and none comes twice."""
    made = [new_id("turn_") for _ in range(10_000)]

    assert made == sorted(set(made))
    assert all(is_id(one, "turn_") and len(one) == len("turn_") + 26 for one in made[:100])


def test_an_id_holds_version_and_variant_of_uuid7() -> None:
    """The 128 bits are those of a UUIDv7."""
    alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
    number = 0
    for character in new_id("ses_").removeprefix("ses_"):
        number = number * 32 + alphabet.index(character)

    assert number < 2**128
    assert number >> 76 & 0xF == 7
    assert number >> 62 & 0b11 == 0b10


@pytest.mark.parametrize("prefix", ["", "turn", "Turn_", "a b_", "_"])
def test_a_prefix_is_a_lower_case_word_and_an_underscore(prefix: str) -> None:
    """A wrong prefix is found at the first use."""
    with pytest.raises(ValueError, match="prefix"):
        new_id(prefix)


def test_a_replay_names_the_same_execution() -> None:
    """The id derives from Turn, call and ordinal, the same in every process."""
    turn = "turn_01jd0000000000000000000000"

    assert execution_id(turn, "call_1", 3) == execution_id(turn, "call_1", 3)
    assert execution_id(turn, "call_1", 3) == "exe_6cga1ewztdg1xkw615q8j3s9xy"
    assert is_id(execution_id(turn, "call_1", 3), "exe_")


@poses("C52")
def test_call_ids_that_a_provider_reuses_name_different_executions() -> None:
    """C52, I26: the same call id in another step or Turn is another execution."""
    names = {
        execution_id(turn, call, ordinal)
        for turn in ("turn_a", "turn_b", "turn_a1")
        for call in ("call_1", "1", "all_1")
        for ordinal in (1, 2, 11)
    }

    assert len(names) == 27
