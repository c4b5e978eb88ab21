"""The read-only admin: every row an operator may want to see, found by any id, changed by nobody.

Begin at `readonly.py`, what all pages share. Actions on Turns are the backend's, never the admin's.
"""

from sessions_app.admin import calls, operations, private, sessions, timeline, turns

__all__ = ["calls", "operations", "private", "sessions", "timeline", "turns"]
