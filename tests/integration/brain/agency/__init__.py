"""A Django app with the agent that real worker processes run in tests."""
