"""Named statements about advisory locks; they read and change no table of ours."""

from __future__ import annotations

from importlib.resources import files
from typing import Final


def _text(name: str) -> str:
    return files(__package__).joinpath(f"{name}.sql").read_text(encoding="utf-8")


TAKE_PRESENCE: Final = _text("take_presence")
HELD_PRESENCES: Final = _text("held_presences")
