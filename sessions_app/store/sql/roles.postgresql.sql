-- Purpose: the rights of the role under which the runtime works, run once by the owner of the tables.
-- The runtime never changes tables (no DDL), and facts once stated are never changed by it: events and
-- audit entries are insert-only. Retention deletes events and so needs the owner, or a role of its own.
GRANT USAGE ON SCHEMA public TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role};
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role};
REVOKE UPDATE, DELETE, TRUNCATE ON sessions_app_event, sessions_app_auditentry FROM {role};
REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON django_migrations FROM {role};
REVOKE CREATE ON SCHEMA public FROM {role};
