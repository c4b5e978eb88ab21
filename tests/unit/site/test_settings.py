"""The environment decides, and nonsense in it is refused by name."""

import stat
import threading
from pathlib import Path

import dj_database_url
import pytest
from django.core.exceptions import ImproperlyConfigured

from durable_site import environment
from durable_site.databases import with_options
from durable_site.durable import durable_settings
from durable_site.embedded import roles
from hands_app.settings import read_environment
from tests.covers import covers


@pytest.mark.parametrize("given", ["", "django-insecure-" + "x" * 60, "changeme" * 8, "short"])
def test_production_refuses_a_key_that_is_no_secret(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Missing, short and well-known keys stop the process."""
    monkeypatch.setenv("DURABLE_SECRET_KEY", given)

    with pytest.raises(ImproperlyConfigured, match="DURABLE_SECRET_KEY"):
        environment.secret_key(tmp_path, production=True)


def test_embedded_key_is_made_once_and_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processes that start together agree on one key, which only the owner can read."""
    monkeypatch.delenv("DURABLE_SECRET_KEY", raising=False)
    keys: list[str] = []
    together = threading.Barrier(8)

    def start() -> None:
        together.wait()
        keys.append(environment.secret_key(tmp_path, production=False))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(keys) == 8
    assert len(set(keys)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["secret.key"]
    assert stat.S_IMODE((tmp_path / "secret.key").stat().st_mode) == 0o600


def test_state_folder_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new folder is closed to others, and so is one that was open."""
    (tmp_path / "open").mkdir(mode=0o755)

    for name in ("new", "open"):
        monkeypatch.setenv("DURABLE_STATE_DIR", str(tmp_path / name))
        assert stat.S_IMODE(environment.state_dir().stat().st_mode) == 0o700


@pytest.mark.parametrize("given", ["0", "-1", "soon", "nan", "inf"])
def test_senseless_duration_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the variable and what it held."""
    monkeypatch.setenv("DURABLE_LEASE_SECONDS", given)

    with pytest.raises(ImproperlyConfigured, match=f"DURABLE_LEASE_SECONDS is '{given}'"):
        environment.seconds("DURABLE_LEASE_SECONDS", 30.0)


@pytest.mark.parametrize("given", ["0", "-1", "1.5", "many"])
def test_senseless_count_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the variable and what it held."""
    monkeypatch.setenv("DURABLE_BRAIN_SLOTS", given)

    with pytest.raises(ImproperlyConfigured, match=f"DURABLE_BRAIN_SLOTS is '{given}'"):
        environment.count("DURABLE_BRAIN_SLOTS", 8)


@pytest.mark.parametrize(
    ("given", "bound"), [("", 10_000), ("none", None), (" None ", None), ("7", 7)]
)
def test_a_bound_may_be_none(
    given: str, bound: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The word says so; zero, which would keep nothing, is refused as for any count."""
    monkeypatch.setenv("DURABLE_KEEP_EVENTS", given)
    assert environment.bound("DURABLE_KEEP_EVENTS", 10_000) == bound

    monkeypatch.setenv("DURABLE_KEEP_EVENTS", "0")
    with pytest.raises(ImproperlyConfigured, match="DURABLE_KEEP_EVENTS is '0'"):
        environment.bound("DURABLE_KEEP_EVENTS", 10_000)


@pytest.mark.parametrize("given", ["a b", "a/b", "a.b", "x" * 65])
def test_namespace_is_a_plain_name(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It becomes part of queue names and file names, so it has only safe characters."""
    monkeypatch.setenv("DURABLE_NAMESPACE", given)

    with pytest.raises(ImproperlyConfigured, match="DURABLE_NAMESPACE"):
        environment.name("DURABLE_NAMESPACE", "durable")


@covers("R179")
def test_each_route_is_a_pool_with_roles_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """R179: the Brain takes tools of each, and `make up` starts work and controls for each."""
    monkeypatch.setenv("DURABLE_HANDS_ROUTES", "hands, gpu,hands")
    env = {"DURABLE_HANDS_ROUTES": "hands, gpu,hands", "DURABLE_STATE_DIR": str(tmp_path)}

    assert durable_settings(tmp_path, "", on_sqlite=True)["HANDS_POOLS"] == ("hands", "gpu")
    assert [role.name for role in roles.hands(env)] == [
        *("hands", "hands-controls", "gpu", "gpu-controls")
    ]
    assert "durable.gpu.controls" in roles.hands(env)[-1].command


@pytest.mark.parametrize(
    ("variable", "given"), [("DURABLE_HANDS_ROUTES", "Big"), ("DURABLE_NAMESPACE", "_x")]
)
def test_what_cannot_name_a_queue_is_refused(
    variable: str, given: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No command with such a name could be written down."""
    monkeypatch.setenv(variable, given)

    with pytest.raises(ImproperlyConfigured, match=variable):
        durable_settings(tmp_path, "", on_sqlite=True)


def test_any_path_of_a_sqlite_file_survives_its_url(tmp_path: Path) -> None:
    """Blanks, signs with a meaning in URLs and other scripts are part of the name."""
    path = tmp_path / "a b+c%20d?e#f ü" / "durable.sqlite3"

    parsed = dj_database_url.parse(environment.sqlite_url(path))

    assert parsed["NAME"] == str(path)


def test_options_of_a_database_url_win(tmp_path: Path) -> None:
    """An operator's own options and session settings are kept beside ours."""
    url = "postgresql://u:p@h/d?connect_timeout=1&options=-c%20work_mem%3D8MB"

    options = with_options(dj_database_url.parse(url), tmp_path)["OPTIONS"]

    assert int(options["connect_timeout"]) == 1
    assert "work_mem=8MB" in options["options"]
    assert "idle_in_transaction_session_timeout" in options["options"]


@covers("R193")
@pytest.mark.parametrize("given", ["", "none", "/srv/durable/objects"])
def test_both_houses_find_the_same_ledger_and_objects(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R193: one environment, one store: whoever starts the roles together need not wire them."""
    monkeypatch.setenv("DURABLE_OBJECTS_DIR", given)
    monkeypatch.setenv("DURABLE_STATE_DIR", str(tmp_path))

    brain = durable_settings(environment.state_dir(), "", on_sqlite=True)
    hands = read_environment()

    assert hands.objects_dir == brain["OBJECTS_DIR"]
    assert hands.objects_dir == {"": tmp_path / "objects", "none": None}.get(given, Path(given))
    assert hands.namespace == brain["NAMESPACE"]
    assert hands.ledger_url == f"sqlite:///{tmp_path}/hands.sqlite3"
