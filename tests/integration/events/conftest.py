"""The runtime that knows the test agent, shared with the tests of the Python API."""

from tests.integration.runtime.conftest import runtime, session

__all__ = ["runtime", "session"]
