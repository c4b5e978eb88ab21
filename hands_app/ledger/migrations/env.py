"""How Alembic runs the ledger's migrations: on the connection it is handed, in one transaction."""

from alembic import context

from hands_app.ledger.schema import VERSION_TABLE
from hands_app.ledger.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,
)
context.run_migrations()
