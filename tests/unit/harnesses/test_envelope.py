"""The envelope: what does not fit is refused before native state is read (R131, C44)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sessions_app.contract.backend import Frame
from sessions_app.contract.errors import Incompatible
from sessions_app.contract.identity import DefinitionKey
from sessions_app.contract.status import CheckpointKind
from sessions_app.harnesses.envelope import Envelope

KEY = DefinitionKey("agent", "1")
OURS = Envelope("kernel", 3, "lib 2.68.0", {2: lambda body: {"migrated": body}})
FRAME = Frame(1, CheckpointKind.BOUNDARY, 3, "kernel", "lib 2.68.0", KEY, {"a": 1}, "sha256:")


def test_a_frame_that_fits_is_opened() -> None:
    """Its body comes back as it was sealed."""
    assert OURS.open(FRAME, KEY) == {"a": 1}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"harness": "other"}, "written by harness other"),
        ({"definition": DefinitionKey("agent", "2")}, "belongs to agent agent@2"),
        ({"definition": DefinitionKey("agent", "1", 2)}, "belongs to agent agent@1"),
        ({"framework": "lib 2.69.0"}, "written by lib 2.69.0"),
        ({"framework": "lib 3.0.0"}, "written by lib 3.0.0"),
        ({"framework": "elsewhere 1.0"}, "written by elsewhere 1.0"),
        ({"framework": "lib"}, "names no framework and version"),
        ({"format": 4}, "format 4 is newer than 3"),
        ({"format": 1}, "no migration is listed for checkpoint format 1"),
    ],
)
def test_a_frame_that_does_not_fit_is_refused(changed: dict[str, Any], said: str) -> None:
    """Another host may have the right build, so it is no failure."""
    with pytest.raises(Incompatible, match=said):
        OURS.open(replace(FRAME, **changed), KEY)


@pytest.mark.parametrize("framework", ["lib 2.68.9", "lib 2.67.0", "lib 1.99.3"])
def test_an_older_framework_or_another_patch_is_read(framework: str) -> None:
    """Only a newer major or minor version may hold what we cannot read."""
    assert OURS.open(replace(FRAME, framework=framework)) == {"a": 1}


def test_an_older_format_passes_its_listed_migration() -> None:
    """Step by step up to today's format."""
    assert OURS.open(replace(FRAME, format=2)) == {"migrated": {"a": 1}}


def test_a_sealed_body_names_harness_format_and_framework() -> None:
    """The store adds definition, position and digest."""
    sealed = OURS.seal({"a": 1})

    assert (sealed.harness, sealed.format, sealed.framework) == ("kernel", 3, "lib 2.68.0")
