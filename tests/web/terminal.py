"""One verb of `manage.py durable`, run in the test's own process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import StringIO
from typing import Any

from django.core.management import call_command


@dataclass(frozen=True)
class Answer:
    """What a verb printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The last JSON line."""
        return json.loads(self.out.splitlines()[-1])


def durable(*words: str) -> Answer:
    """Run one verb in this process."""
    out, err = StringIO(), StringIO()
    code = 0
    try:
        call_command("durable", *words, stdout=out, stderr=err, no_color=True)
    except SystemExit as end:
        code = int(end.code or 0)
    return Answer(code, out.getvalue(), err.getvalue())
