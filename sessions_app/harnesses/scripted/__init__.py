"""The scripted kernel: the reference of the adapter contract, and an agent that needs no key."""

from sessions_app.harnesses.scripted.model import Call, RefusedError, Reply, Script

__all__ = ["Call", "RefusedError", "Reply", "Script"]
