"""The envelope of a checkpoint: all that has to fit before native state is touched (R131, R139)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NoReturn

from hands_app.contract.strict_json import JsonValue
from sessions_app.contract.backend import Frame, FrameDraft
from sessions_app.contract.errors import Incompatible
from sessions_app.contract.status import CheckpointKind

if TYPE_CHECKING:
    from sessions_app.contract.identity import DefinitionKey

Migration = Callable[[JsonValue], JsonValue]
_RELEASE: Final = re.compile(r"(?P<name>\S+) (?P<major>\d+)\.(?P<minor>\d+)")


@dataclass(frozen=True, slots=True)
class Envelope:
    """What one adapter writes and reads. `migrations[n]` turns a body of format n into n + 1."""

    harness: str
    format: int
    framework: str
    migrations: Mapping[int, Migration] = field(default_factory=dict)

    def seal(self, body: JsonValue, kind: CheckpointKind = CheckpointKind.BOUNDARY) -> FrameDraft:
        """Put a body into an envelope of this adapter."""
        return FrameDraft(
            kind=kind, format=self.format, harness=self.harness, framework=self.framework, body=body
        )

    def open(self, frame: Frame, definition: DefinitionKey | None = None) -> JsonValue:
        """Give the body in today's format; raises Incompatible before anything of it is read."""
        if frame.harness != self.harness:
            _refuse(f"the checkpoint was written by harness {frame.harness}, not {self.harness}")
        if definition is not None and frame.definition != definition:
            _refuse(f"the checkpoint belongs to agent {frame.definition}, not to {definition}")
        self._check_framework(frame.framework)
        return self._migrated(frame)

    def _check_framework(self, written_by: str) -> None:
        theirs, ours = _release(written_by), _release(self.framework)
        if theirs[0] != ours[0] or theirs[1:] > ours[1:]:
            _refuse(f"the checkpoint was written by {written_by}; this host runs {self.framework}")

    def _migrated(self, frame: Frame) -> JsonValue:
        if frame.format > self.format:
            _refuse(f"checkpoint format {frame.format} is newer than {self.format}")
        body = frame.body
        for older in range(frame.format, self.format):
            if older not in self.migrations:
                _refuse(f"no migration is listed for checkpoint format {older}")
            body = self.migrations[older](body)
        return body


def _release(framework: str) -> tuple[str, int, int]:
    """Name, major and minor version; a patch release changes no stored state."""
    found = _RELEASE.match(framework)
    if found is None:
        _refuse(f"{framework!r} names no framework and version")
    return found["name"], int(found["major"]), int(found["minor"])


def _refuse(why: str) -> NoReturn:
    raise Incompatible(why)
