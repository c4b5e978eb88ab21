"""The database's clock behind one function, append-only timelines, and the store's first incarnation."""

from django.apps.registry import Apps as StateApps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from hands_app.contract.ids import new_id

CLOCK = """
CREATE OR REPLACE FUNCTION durable_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
    SELECT clock_timestamp()
         + coalesce(nullif(current_setting('durable.clock_offset', true), '')::interval, interval '0')
$$
"""
APPEND_ONLY = """
CREATE OR REPLACE FUNCTION durable_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of this table are never changed' USING ERRCODE = 'integrity_constraint_violation';
END
$$
"""
TABLES = ("sessions_app_event", "sessions_app_auditentry")


def install(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Add the clock function and the guards of append-only tables; write the incarnation."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(CLOCK)
        schema_editor.execute(APPEND_ONLY)
    for table in TABLES:
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(
                f"CREATE TRIGGER {table}_append_only BEFORE UPDATE ON {table} "
                "FOR EACH ROW EXECUTE FUNCTION durable_append_only()"
            )
        else:
            schema_editor.execute(
                f"CREATE TRIGGER {table}_append_only BEFORE UPDATE ON {table} "
                f"BEGIN SELECT RAISE(ABORT, 'rows of {table} are never changed'); END"
            )
    apps.get_model("sessions_app", "StoreState").objects.create(id=1, incarnation=new_id("inc_"))


def remove(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Take away what `install` made."""
    for table in TABLES:
        suffix = f" ON {table}" if schema_editor.connection.vendor == "postgresql" else ""
        schema_editor.execute(f"DROP TRIGGER IF EXISTS {table}_append_only{suffix}")
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP FUNCTION IF EXISTS durable_now()")
        schema_editor.execute("DROP FUNCTION IF EXISTS durable_append_only()")
    apps.get_model("sessions_app", "StoreState").objects.all().delete()


class Migration(migrations.Migration):
    """See the module."""

    dependencies = (("sessions_app", "0001_initial"),)
    operations = (migrations.RunPython(install, remove),)
