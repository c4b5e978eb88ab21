"""Output of a tool as it is read: pages by byte offset, with gaps for what was lost (R190).

Offsets count every byte that a tool wrote, lost ones included, over all attempts of an execution.
A loss whose size nobody knows takes one byte, so that offsets always go on.
"""

from __future__ import annotations

import base64
import binascii
from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from hands_app.contract.json_limits import SAFE_INTEGER
from hands_app.contract.wire import Id, Wire

MAX_PAGE_BYTES: Final = 256 * 1024
"""Bytes of one page, so that the page in base 64 fits into an envelope."""

Offset = Annotated[int, Field(ge=0, le=SAFE_INTEGER)]


class Gap(StrEnum):
    """Why bytes are missing."""

    LIMIT = "limit"
    """The execution's bound was reached; the size is exact."""
    DIED = "died"
    """The worker died; nobody knows how much it had not recorded yet."""
    LATE = "late"
    """The tool ran on after its deadline; nobody kept what it wrote then."""
    EXPIRED = "expired"
    """It was kept for its time and is gone; the size is exact."""

    @property
    def has_known_size(self) -> bool:
        """Whether as many bytes were lost as the gap takes."""
        return self in {Gap.LIMIT, Gap.EXPIRED}


class OutputPage(Wire):
    """What stands at `offset`: bytes of one attempt, or a gap, or nothing yet; `next` comes after.

    `available` is the end of what is recorded, `sealed` says that nothing is added any more. A page
    with `next == offset` is the last one when it is sealed, and comes again later when it is not.
    """

    command_id: Id
    offset: Offset
    next: Offset
    data: str = ""
    gap: Gap | None = None
    attempt: Annotated[int, Field(ge=0)] = 0
    available: Offset
    sealed: bool

    @model_validator(mode="after")
    def _extent_fits(self) -> Self:
        extent = self.next - self.offset
        if extent < 0 or (self.gap is None and extent != len(self.bytes)):
            message = "a page reaches from its offset to next"
            raise ValueError(message)
        if self.gap is not None and (extent == 0 or self.data):
            message = "a gap takes room and has no bytes"
            raise ValueError(message)
        return self

    @property
    def bytes(self) -> bytes:
        """The bytes of the page; none in a gap. Raises ValueError for what is no base 64."""
        try:
            return base64.b64decode(self.data, validate=True)
        except binascii.Error:
            message = "the data of a page is base 64"
            raise ValueError(message) from None
