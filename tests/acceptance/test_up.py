"""The embedded system as a person runs it: `make up` until Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode

import httpx2 as httpx
import pytest

from durable_site.embedded.folder import Claim
from durable_site.embedded.roles import CHECKOUT
from tests.acceptance.processes import living_with

LINK = re.compile(r"sign in once: (http://\S+)\s+token of this run: (dst_\S+)")

pytestmark = [pytest.mark.sqlite, pytest.mark.timeout(300)]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of a person who set nothing but the state folder."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("DURABLE_")}
    return {**clean, "DURABLE_STATE_DIR": str(tmp_path / "a state")}


@pytest.fixture
def up(environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """The running command."""
    with subprocess.Popen(
        [sys.executable, "-u", "manage.py", "durable_up", "--brains", "1"],
        cwd=CHECKOUT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        start_new_session=True,
    ) as process:
        yield process
        process.kill()


def wait_for_link(up: subprocess.Popen[bytes]) -> tuple[str, str]:
    """Return the sign-in link and the token, printed when every role is ready."""
    assert up.stdout is not None
    said = ""
    for line in up.stdout:
        said += line.decode()
        if found := LINK.search(said):
            return found[1], found[2]
    pytest.fail(f"ended before it was ready:\n{said}")


def test_up_runs_every_role_and_ends_with_the_interrupt(
    up: subprocess.Popen[bytes], environment: dict[str, str]
) -> None:
    """The printed link opens the admin, the token the API; Ctrl-C ends everything.

    Only data and logs stay, and the token lets nobody in any more.
    """
    link, token = wait_for_link(up)
    folder = Path(environment["DURABLE_STATE_DIR"])
    assert link.startswith((folder / "supervisor.lock").read_text().split()[1])
    assert "Site administration" in sign_in(link)
    address = link.split("/signin/")[0]
    bearer = {"Authorization": f"Bearer {token}"}
    place = f"{address}/api/v1/namespaces/acme/sessions"
    assert httpx.get(place, headers=bearer, timeout=20).json()["items"] == []

    up.send_signal(signal.SIGINT)

    assert up.stdout is not None
    assert up.stdout.read().decode().splitlines()[-1] == "everything has stopped"
    assert up.wait() == 0
    assert living_with(str(folder)) == []
    assert not (folder / "supervisor.lock").exists()
    assert not (folder / "signin").exists()
    assert token not in "".join(log.read_text() for log in (folder / "logs").glob("*.log"))
    holds = "import sys; from sessions_app.store import tokens; tokens.identify(sys.argv[1])"
    inside = ("manage.py", "shell", "-c", f"import sys; sys.argv[1:] = ['{token}']; {holds}")
    tried = subprocess.run(
        [sys.executable, *inside],
        cwd=CHECKOUT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Unauthenticated" in tried.stderr


def test_a_second_up_says_where_the_first_one_runs(environment: dict[str, str]) -> None:
    """One state folder, one system."""
    with Claim(Path(environment["DURABLE_STATE_DIR"])) as first:
        first.note("http://127.0.0.1:8000")

        second = subprocess.run(
            [sys.executable, "manage.py", "durable_up"],
            cwd=CHECKOUT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    assert second.returncode == 1
    assert f"already runs at http://127.0.0.1:8000 (process {os.getpid()})" in second.stderr


def sign_in(link: str) -> str:
    """Open the link and confirm, as a browser does; return the page that follows."""
    browser = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(CookieJar())
    )
    page = browser.open(link).read().decode()
    token = re.search(r'csrfmiddlewaretoken" value="(\w+)"', page)
    assert token is not None
    form = urlencode({"csrfmiddlewaretoken": token[1]}).encode()
    return str(browser.open(link, form).read().decode())
