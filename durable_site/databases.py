"""The options that each database engine gets, so that both keep the promises of the store."""

from pathlib import Path

from dj_database_url import DBConfig

_SQLITE = "django.db.backends.sqlite3"
_POSTGRESQL = "django.db.backends.postgresql"

# A forgotten open transaction holds a Session's lock; the server ends it after this long.
_IDLE_IN_TRANSACTION = "10s"

# Nobody waits longer for a lock: a caller gets Unavailable, an owner comes again.
_LOCK_TIMEOUT = "1s"

# A request waits no longer for a connection of a web process's pool.
_POOL_SECONDS = 5

_SQLITE_OPTIONS = {
    # Read-then-write in a deferred transaction fails at once when another writer came between.
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    # FULL: in WAL mode NORMAL may lose the last commits when the machine loses power.
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;",
}

_POSTGRESQL_OPTIONS = {
    "application_name": "durable_site",
    # Django switches prepared statements off unless a threshold is given.
    "prepare_threshold": 5,
    "connect_timeout": 5,
    # A server that vanished without a word is noticed within about ten seconds.
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


def with_options(database: DBConfig, state_dir: Path) -> DBConfig:
    """Return Django's description of a database with our options; those given in its URL win."""
    given = dict(database.get("OPTIONS", {}))
    # Connections live until close_old_connections() finds them broken, but see below for the web.
    database["CONN_MAX_AGE"] = None
    if database["ENGINE"] == _SQLITE:
        database["OPTIONS"] = {**_SQLITE_OPTIONS, **given}
        # A file, because threads and processes of one test share it.
        database["TEST"] = {"NAME": str(state_dir / "test.sqlite3")}
    elif database["ENGINE"] == _POSTGRESQL:
        limits = (
            f"-c idle_in_transaction_session_timeout={_IDLE_IN_TRANSACTION} "
            f"-c lock_timeout={_LOCK_TIMEOUT}"
        )
        options = f"{limits} {given.pop('options', '')}".strip()
        database["OPTIONS"] = {**_POSTGRESQL_OPTIONS, "options": options, **given}
    return database


def share_connections(database: DBConfig, most: int) -> None:
    """Let the threads of a web process, which come and go with requests, share connections.

    On PostgreSQL at most so many are open; a request waits a little for one, and is then told that
    the database is busy. On SQLite, where opening costs nothing, each has its own.
    """
    database["CONN_MAX_AGE"] = 0
    if database["ENGINE"] == _POSTGRESQL:
        database["CONN_HEALTH_CHECKS"] = True  # a server that was restarted broke them all
        pool = {"min_size": 1, "max_size": most, "timeout": _POOL_SECONDS}
        database["OPTIONS"] = {**database.get("OPTIONS", {}), "pool": pool}
