"""The token between a Brain and a sidecar: read, made, compared (closed by default)."""

from __future__ import annotations

import hmac
import os
import secrets
import tempfile
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hands_app.contract.errors import Incompatible

if TYPE_CHECKING:
    from collections.abc import Mapping

SHORTEST: Final = 16
_FILE: Final = "sidecar.token"


def given_token(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the token of `DURABLE_HTTP_TOKEN` or of the file that `DURABLE_HTTP_TOKEN_FILE` names.

    Raises:
        Incompatible: a file that cannot be read, or a token that is too short or no ASCII.
    """
    token = environment.get("DURABLE_HTTP_TOKEN", "").strip()
    name = environment.get("DURABLE_HTTP_TOKEN_FILE", "").strip()
    if not token and not name:
        return None
    return _checked(token or _read(Path(name)))


def own_token(state_dir: Path) -> str:
    """Return the token of this machine's state folder, made when there is none; all agree on it."""
    path = state_dir / _FILE
    if not path.exists():
        handle, draft = tempfile.mkstemp(dir=state_dir, prefix=".token-")
        try:
            with os.fdopen(handle, "w") as file:
                file.write(secrets.token_urlsafe(32))
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            Path(draft).unlink()
    return _checked(_read(path))


def token_for(address: str, state_dir: Path, environment: Mapping[str, str] = os.environ) -> str:
    """Return the token of a sidecar at this address.

    Raises:
        Incompatible: others can reach it, and nobody gave a token.
    """
    token = given_token(environment)
    if token is not None:
        return token
    if not is_loopback(address):
        message = (
            f"{address} can be reached from other machines: give a token by "
            "DURABLE_HTTP_TOKEN or DURABLE_HTTP_TOKEN_FILE"
        )
        raise Incompatible(message)
    return own_token(state_dir)


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def fits(header: bytes | None, token: str) -> bool:
    """Whether an Authorization header carries the token, compared in constant time."""
    return hmac.compare_digest(header or b"", f"Bearer {token}".encode())


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        message = f"the token file cannot be read: {type(error).__name__}"
        raise Incompatible(message) from error


def _checked(token: str) -> str:
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        message = f"a token has at least {SHORTEST} printable ASCII characters and no blank"
        raise Incompatible(message)
    return token
