"""The one token of an embedded system: made when it is up, told there, revoked at its end.

Its secret passes through a pipe alone: no log and no command line holds it.
"""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from durable_site.embedded import roles
from durable_site.embedded.supervisor import RoleFailedError, environment

_SECONDS = 60


@dataclass(frozen=True)
class Access:
    """A token as it is told."""

    token_id: str
    secret: str


def issue(env: Mapping[str, str]) -> Access:
    """Make a token that may do all in every namespace, for a day at most.

    Raises RoleFailedError with what was said when it could not be made.
    """
    wanted = ("--role", "operator", "--all-namespaces", "--days", "1", "--json")
    said = json.loads(_manage(env, "create", "up", *wanted))
    return Access(said["token"]["tokenId"], said["secret"])


def withdraw(env: Mapping[str, str], access: Access) -> None:
    """Let nobody in by it any more; raises RoleFailedError."""
    _manage(env, "revoke", access.token_id)


def _manage(env: Mapping[str, str], *arguments: str) -> str:
    manage = str(roles.CHECKOUT / "manage.py")
    try:
        done = subprocess.run(  # noqa: S603 - our own command
            roles.python(manage, "durable", "token", *arguments, "--actor", "durable_up"),
            env=environment(env),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired as late:
        msg = f"`durable token {arguments[0]}` did not end within {_SECONDS} s"
        raise RoleFailedError(msg) from late
    except subprocess.CalledProcessError as failed:
        msg = f"`durable token {arguments[0]}` failed: {failed.stderr.strip()}"
        raise RoleFailedError(msg) from None  # its command would be shown
    return done.stdout
