"""What the environment says, read in one place and in typed form.

ARCHITECTURE.md lists the names. No settings are needed here, so that supervisors, tests and
settings read the same values in the same way.
"""

import os
import re
import secrets
import stat
import tempfile
from pathlib import Path
from urllib.parse import quote

from django.core.exceptions import ImproperlyConfigured

ROOT = Path(__file__).resolve().parent.parent

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SHORTEST_KEY = 32
_KNOWN_KEYS = ("django-insecure-", "changeme", "change-me", "secret", "insecure")


def text(variable: str, default: str = "") -> str:
    """Return the variable without surrounding blanks; empty counts as not set."""
    return os.environ.get(variable, "").strip() or default


def name(variable: str, default: str) -> str:
    """Return a name that can be part of a queue's and a file's; raises ImproperlyConfigured."""
    given = text(variable, default)
    if not _NAME.fullmatch(given):
        message = f"{variable} is {given!r}; use at most 64 letters, digits, '-' and '_'."
        raise ImproperlyConfigured(message)
    return given


def words(variable: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return a comma separated variable as its parts, empty ones left out."""
    parts = tuple(part.strip() for part in text(variable).split(",") if part.strip())
    return parts or default


def choice(variable: str, known: tuple[str, ...]) -> str:
    """Return one of the known words, the first when not set; raises ImproperlyConfigured."""
    given = text(variable, known[0])
    if given not in known:
        message = f"{variable} is {given!r}; it can be {' or '.join(map(repr, known))}."
        raise ImproperlyConfigured(message)
    return given


def seconds(variable: str, default: float) -> float:
    """Return a duration in seconds; raises ImproperlyConfigured unless it is a positive number."""
    given = text(variable)
    if not given:
        return default
    try:
        value = float(given)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        message = f"{variable} is {given!r}; give a positive number of seconds."
        raise ImproperlyConfigured(message)
    return value


def count(variable: str, default: int) -> int:
    """Return a number of things; raises ImproperlyConfigured unless it is a positive integer."""
    given = text(variable)
    if not given:
        return default
    if not given.isascii() or not given.isdecimal() or int(given) == 0:
        message = f"{variable} is {given!r}; give a positive whole number."
        raise ImproperlyConfigured(message)
    return int(given)


def bound(variable: str, default: int) -> int | None:
    """Return a bound, none for the word `none`; raises ImproperlyConfigured as `count` does."""
    return None if text(variable).lower() == "none" else count(variable, default)


def state_dir() -> Path:
    """Return the private state folder, made when missing; an own one is closed to others."""
    folder = Path(text("DURABLE_STATE_DIR", str(ROOT / "var"))).absolute()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_uid == os.geteuid() and stat.S_IMODE(folder.stat().st_mode) & 0o077:
        folder.chmod(0o700)
    return folder


def sqlite_url(path: Path) -> str:
    """Return the database URL of a SQLite file, whatever characters its absolute path has."""
    return f"sqlite:///{quote(str(path))}"


def secret_key(folder: Path, *, production: bool) -> str:
    """Return Django's secret key; made once in the state folder unless this is production.

    Raises ImproperlyConfigured in production when the key is missing, short or publicly known.
    """
    given = text("DURABLE_SECRET_KEY")
    if not production:
        return given or _kept_key(folder / "secret.key")
    if len(given) < _SHORTEST_KEY or given.lower().startswith(_KNOWN_KEYS):
        message = (
            f"DURABLE_SECRET_KEY must hold a private value of at least {_SHORTEST_KEY} characters "
            "in production, for example 50 random bytes in base 64."
        )
        raise ImproperlyConfigured(message)
    return given


def _kept_key(path: Path) -> str:
    """Read the key, or make it so that of many processes starting at once all agree."""
    if not path.exists():
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".secret-")
        try:
            with os.fdopen(handle, "w") as file:
                file.write(secrets.token_urlsafe(50))
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            Path(draft).unlink()
    return path.read_text().strip()
