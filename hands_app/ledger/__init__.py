"""The durable record of executions on SQLite or PostgreSQL, and its migrations."""

import logging

# Alembic announces each of its plugins and each look at the version.
logging.getLogger("alembic.runtime").setLevel(logging.WARNING)
