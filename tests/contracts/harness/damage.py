"""Histories broken on purpose, through the same pure functions that mend them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.contract.transcript import Kept

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sessions_app.contract.backend import EntryDraft, FrameDraft, Native
    from sessions_app.contract.transcript import Message, Piece
    from sessions_app.ports import HarnessAdapter


def _orphan_call(reply: list[Piece], results: list[Piece]) -> list[Piece]:
    return [*reply, results[0]]


def _orphan_result(_reply: list[Piece], results: list[Piece]) -> list[Piece]:
    return [results[0]]


def _two_results(reply: list[Piece], results: list[Piece]) -> list[Piece]:
    return [*reply, *results, results[0]]


def _wrong_order(reply: list[Piece], results: list[Piece]) -> list[Piece]:
    return [*reply, *reversed(results)]


DAMAGES = {
    "orphan call": _orphan_call,
    "orphan result": _orphan_result,
    "two results": _two_results,
    "wrong order": _wrong_order,
}


def damaged(adapter: HarnessAdapter, native: Native, damage: str) -> tuple[EntryDraft, FrameDraft]:
    """An entry and a frame that break the first round of a whole history."""
    history = adapter.history(native)
    at = next(place for place, said in enumerate(history) if _has(said, "call"))
    results = _results(history)
    behind: list[Piece] = [
        Kept(place) for place in range(at + 1, len(history)) if not _has(history[place], "result")
    ]
    return adapter.mend(native, at, [*DAMAGES[damage]([Kept(at)], results), *behind])


def _results(history: Sequence[Message]) -> list[Piece]:
    return [
        Kept(place, (number,))
        for place, said in enumerate(history)
        for number, mark in enumerate(said)
        if mark.kind == "result"
    ]


def _has(message: Message, kind: str) -> bool:
    return any(mark.kind == kind for mark in message)
