"""The supervisor with real processes: their start, death, restart and end."""

import json
import re
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from durable_site.embedded.folder import Claim, FolderTakenError
from durable_site.embedded.process import Phase
from durable_site.embedded.rolelog import RoleLog
from durable_site.embedded.roles import CHECKOUT, Role, python
from durable_site.embedded.supervisor import RoleFailedError, Supervisor, environment
from tests.acceptance.processes import Watched, read_line

READY = re.compile("^ready")
WAITS = "import signal; print('ready', flush=True); signal.pause()"
IGNORES_TERM = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + WAITS
HAS_CHILD = (
    "import subprocess, sys;"
    "c = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()']);"
    "print('ready', c.pid, flush=True); c.wait()"
)
SUPERVISOR = """
import json, signal, sys
from pathlib import Path
from durable_site.embedded.rolelog import RoleLog
from durable_site.embedded.roles import Role, python
from durable_site.embedded.supervisor import Supervisor
import re
roles = [Role(n, python("-c", sys.argv[2]), re.compile("^ready")) for n in ("one", "two")]
with Supervisor({"DURABLE_STATE_DIR": sys.argv[1]}, roles) as site:
    print(json.dumps([site.pid(name) for name in site.names()]), flush=True)
    signal.pause()
"""


def role(name: str, program: str = WAITS, *, restart: bool = True) -> Role:
    """Return a role that runs a few lines of Python."""
    return Role(name, python("-c", program), READY, restart=restart)


def supervisor(folder: Path, *roles: Role, grace: float = 10.0) -> Supervisor:
    """Return a supervisor of these roles in this folder."""
    return Supervisor({"DURABLE_STATE_DIR": str(folder)}, roles, grace=grace)


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A supervisor of two roles in a process of its own."""
    command = [sys.executable, "-c", SUPERVISOR, str(tmp_path / "state"), WAITS]
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, bufsize=0) as process:
        yield process
        process.kill()


def test_roles_end_with_the_supervisor_and_leave_only_their_logs(tmp_path: Path) -> None:
    """After the exit no process lives and the private folder holds nothing but logs."""
    with supervisor(tmp_path / "state", role("one"), role("two")) as site:
        processes = [Watched(site.pid(name) or 0) for name in site.names()]

    for process in processes:
        process.wait_gone(0.0)
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    left = sorted(str(p.relative_to(tmp_path / "state")) for p in (tmp_path / "state").rglob("*"))
    assert left == ["logs", "logs/one.log", "logs/two.log"]


def test_a_killed_role_starts_again(tmp_path: Path) -> None:
    """A role that dies comes back as another process."""
    with supervisor(tmp_path, role("one")) as site:
        first = site.pid("one")

        site.kill("one")

        site.wait_until(lambda: site.phase("one") is Phase.READY and site.pid("one") != first)


def test_a_role_killed_without_restart_stays_dead(tmp_path: Path) -> None:
    """The one who kills may forbid the restart."""
    with supervisor(tmp_path, role("one"), role("two")) as site:
        site.kill("one", restart=False)

        site.wait_until(lambda: site.phase("one") is Phase.DEAD)
        assert site.pid("one") is None
        assert site.phase("two") is Phase.READY


def test_children_die_with_a_killed_supervisor(other: subprocess.Popen[bytes]) -> None:
    """SIGKILL of the supervisor leaves no role behind."""
    processes = [Watched(pid) for pid in json.loads(read_line(other))]

    other.kill()

    for process in processes:
        process.wait_gone()


def test_what_a_dead_role_had_started_is_ended(tmp_path: Path) -> None:
    """The end of a role takes its whole process group along."""
    with supervisor(tmp_path, role("one", HAS_CHILD)) as site:
        grandchild = Watched(int(site.last_lines("one")[-1].split()[1]))

        site.kill("one", restart=False)

        grandchild.wait_gone()


def test_a_role_that_ignores_the_request_is_killed_after_the_grace_time(tmp_path: Path) -> None:
    """Stopping ends even when a role does not cooperate."""
    with supervisor(tmp_path, role("one", IGNORES_TERM), grace=0.2) as site:
        process = Watched(site.pid("one") or 0)

    process.wait_gone(0.0)


def test_a_second_supervisor_is_refused(tmp_path: Path, other: subprocess.Popen[bytes]) -> None:
    """One state folder has one supervisor; the answer names the process that runs."""
    read_line(other)

    with pytest.raises(FolderTakenError, match=f"process {other.pid}"):
        supervisor(tmp_path / "state", role("one")).__enter__()


def test_a_dead_supervisor_holds_no_folder(tmp_path: Path, other: subprocess.Popen[bytes]) -> None:
    """The claim dies with its process, although the file stays."""
    read_line(other)

    other.send_signal(signal.SIGKILL)
    other.wait()

    Claim(tmp_path / "state").close()
    assert not (tmp_path / "state" / "supervisor.lock").exists()


def test_a_role_that_dies_at_start_reports_its_last_lines(tmp_path: Path) -> None:
    """The reason that the role gave is in the error, and nothing else stays alive."""
    failing = role("two", "raise SystemExit('the port is taken')")

    with pytest.raises(
        RoleFailedError, match=r"two died at start \(exit status 1\)[^$]*the port is taken"
    ):
        supervisor(tmp_path, role("one"), failing).__enter__()

    Claim(tmp_path).close()


def test_paths_with_spaces_work(tmp_path: Path) -> None:
    """Neither the checkout nor the state folder needs a plain path."""
    checkout = tmp_path / "a checkout"
    for room in ("durable_site/embedded", "hands_app/contract"):
        shutil.copytree(CHECKOUT / room, checkout / room)
    command = [sys.executable, "-c", SUPERVISOR, str(tmp_path / "a state"), WAITS]

    with subprocess.Popen(command, cwd=checkout, stdout=subprocess.PIPE, bufsize=0) as process:
        processes = [Watched(pid) for pid in json.loads(read_line(process))]
        process.send_signal(signal.SIGINT)

    for watched in processes:
        watched.wait_gone()


def test_roles_run_on_the_settings_that_were_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who adds apps of agents in a settings module of their own finds them in every role."""
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "shop.settings")

    assert environment({})["DJANGO_SETTINGS_MODULE"] == "shop.settings"


def test_a_log_keeps_two_bounded_generations(tmp_path: Path) -> None:
    """A role that talks without end cannot fill the disk."""
    log = RoleLog(tmp_path / "logs" / "one.log", limit=1000)
    for number in range(200):
        log.write(b"line %d\n" % number)
    log.close()

    sizes = {p.name: p.stat().st_size for p in (tmp_path / "logs").iterdir()}
    assert set(sizes) == {"one.log", "one.log.1"}
    assert max(sizes.values()) <= 1000
    assert log.last_lines(2) == ["line 198", "line 199"]
