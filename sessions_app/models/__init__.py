"""Tables, constraints and indexes; no behaviour. The tour begins at `turn.py`."""

from sessions_app.models.control import Command, Signal, Wait
from sessions_app.models.event import Event, Message
from sessions_app.models.interaction import Interaction, StandingRule
from sessions_app.models.journal import Checkpoint, JournalEntry
from sessions_app.models.operations import (
    AuditEntry,
    Host,
    PurgeMarker,
    ScanRun,
    StoreState,
    WorkspaceEntry,
)
from sessions_app.models.output import OutputQuestion
from sessions_app.models.run import ModelCall, Run, Step
from sessions_app.models.session import Session
from sessions_app.models.thread import Thread
from sessions_app.models.token import Token
from sessions_app.models.tool import ToolCall
from sessions_app.models.turn import Turn

__all__ = [
    "AuditEntry",
    "Checkpoint",
    "Command",
    "Event",
    "Host",
    "Interaction",
    "JournalEntry",
    "Message",
    "ModelCall",
    "OutputQuestion",
    "PurgeMarker",
    "Run",
    "ScanRun",
    "Session",
    "Signal",
    "StandingRule",
    "Step",
    "StoreState",
    "Thread",
    "Token",
    "ToolCall",
    "Turn",
    "Wait",
    "WorkspaceEntry",
]
