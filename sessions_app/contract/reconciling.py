"""What comes of a reconciliation, whichever database it is recorded in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ReconciledView:
    """An UNKNOWN that ended as it was verified; a repeat of the request gives the same.

    `place` says where the record is: in the Brain's database for a call that ran here, in the
    ledger of the pools for one that ran there and whose result is on its way.
    """

    execution_id: str
    request_id: str
    turn_id: str
    state: str
    place: Literal["brain", "ledger"]
