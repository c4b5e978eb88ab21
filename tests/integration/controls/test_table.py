"""Every control in every status answers and leads to what the table says, on the real store."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.errors import Rejected
from sessions_app.contract.status import TurnStatus
from sessions_app.machine.control_table import TABLE, Answer, Operation
from sessions_app.models import Command
from tests.covers import covers
from tests.integration.controls.scenes import brought_to
from tests.integration.runtime.world import everything

if TYPE_CHECKING:
    from tests.stores import Store

CELLS = [
    pytest.param(operation, status, id=f"{operation}-{status}")
    for operation, status in product(Operation, TurnStatus)
]


@covers("R042", "R053")
@pytest.mark.parametrize(("operation", "status"), CELLS)
def test_each_cell_is_what_the_store_does(
    store: Store, operation: Operation, status: TurnStatus
) -> None:
    """Admitted leads where the cell says; a refusal writes nothing and takes no request id."""
    cell = TABLE[operation, status]
    subject = brought_to(status, store, asks=operation == Operation.RESPOND)
    seen, before = subject.row.revision, everything()

    if cell.answer not in {Answer.ADMITTED, Answer.UNCHANGED}:
        with pytest.raises(Rejected) as refused:
            subject.ask(operation)
        assert refused.value.code == cell.answer.value
        assert cell.answer == Answer.NOT_FOUND or status in str(refused.value)
        assert everything() == before
        return
    receipt = subject.ask(operation)

    assert receipt.operation == operation
    assert subject.row.status in (cell.leads_to or (status,))
    assert Command.objects.filter(request_id="asked").count() == 1
    assert subject.ask(operation, revision=seen) == receipt
