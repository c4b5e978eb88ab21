"""Diagnosis: what `doctor` looks at, each look a function that gives findings and never raises."""

from sessions_app.management.diagnosis import broker, database, fleet
from sessions_app.management.diagnosis.findings import Finding, Level, examine

__all__ = ["Finding", "Level", "broker", "database", "examine", "fleet"]
