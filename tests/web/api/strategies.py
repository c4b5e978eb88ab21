"""What Schemathesis cannot know of a document: which ids there are. It is given some to mix in."""

from __future__ import annotations

import json
import os
from pathlib import Path

import schemathesis
from hypothesis import strategies as st

SEEDED = json.loads(Path(os.environ["SEEDED"]).read_text(encoding="utf-8"))
SHAPE = r"\A[a-z]{2,8}_[0-7][0-9abcdefghjkmnpqrstvwxyz]{25}\Z"
NAME = r"\A[A-Za-z0-9][A-Za-z0-9._:@+~-]{0,20}\Z"


def _mostly(kind: str, otherwise: str) -> st.SearchStrategy[str]:
    """Ids that exist, and sometimes others of the same form."""
    known = st.sampled_from(SEEDED[kind])
    return st.one_of(known, known, known, st.from_regex(otherwise))


SEEDED["turn"] = [
    *SEEDED["turn"],
    *SEEDED["ended"] * len(SEEDED["turn"]),
    *SEEDED["asking"] * len(SEEDED["turn"]),
]
for _kind in ("turn", "run", "step", "call", "interaction", "execution", "rule"):
    schemathesis.openapi.format(f"durable-{_kind}", _mostly(_kind, SHAPE))
for _kind in ("session", "thread"):
    schemathesis.openapi.format(f"durable-{_kind}", _mostly(_kind, NAME))
schemathesis.openapi.format("durable-namespace", st.sampled_from(["acme", "acme", "other"]))
schemathesis.openapi.format("durable-agent", st.just("night-report"))
schemathesis.openapi.format("durable-version", st.just("1"))
schemathesis.openapi.format("durable-cursor", st.just(""))
