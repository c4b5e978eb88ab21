"""The main job, shown: a Turn whose Brain is killed in the middle of a model call, and its end."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from django.db import connections

from durable_site.demo import oracle
from durable_site.demo.endpoint import ModelServer
from durable_site.demo.job import Job
from durable_site.demo.proof import Facts, checks
from durable_site.demo.watch import Death, DemoFailedError, Watch
from durable_site.embedded import assembly
from durable_site.embedded.console import Console
from durable_site.embedded.supervisor import Supervisor
from sessions_app.contract.views import TurnView

KILLED_REQUEST = 2
ORACLE_VARIABLE = "DURABLE_DEMO_ORACLE"


def show(env: Mapping[str, str], model: ModelServer, console: Console) -> str:
    """Run the house and the Turn, and return the last line once everything has stopped.

    Raises DemoFailedError when the Turn does not end as it must, or a proof does not hold.
    """
    console.line("migrating a fresh database")
    assembly.migrate(env)
    with assembly.listen(0) as web, model:
        roles = [role.without_restart() for role in assembly.every_role(env, web)]
        console.line(f"starting {', '.join(role.name for role in roles)}")
        with Supervisor(env, roles, grace=assembly.grace(env)) as site:
            console.line(f"everything is ready, web on {assembly.address(web)}")
            last = _watch_and_prove(Path(env[ORACLE_VARIABLE]), site, model, console)
            console.line("stopping everything")
    return last


def _watch_and_prove(effects: Path, site: Supervisor, model: ModelServer, console: Console) -> str:
    try:
        with closing(Job()) as job:
            watch = Watch(job, site, model, console)
            view = watch.until_end()
            _prove(_facts(view, job, model, effects), console)
            return _last_line(view, watch.death)
    finally:
        connections.close_all()


def _facts(view: TurnView, job: Job, model: ModelServer, effects: Path) -> Facts:
    return Facts(
        status=view.status,
        takeovers=view.takeovers,
        requests=model.journal.records(),
        model_calls=job.model_calls(),
        executions=job.executions(),
        effects=oracle.effects(effects),
    )


def _prove(facts: Facts, console: Console) -> None:
    found = list(checks(facts))
    for check in found:
        mark = console.paint("green", "✓") if check.holds else console.paint("red", "✗")
        console.line(f"  {mark} {check.words}")
    if broken := [check.words for check in found if not check.holds]:
        raise DemoFailedError("; ".join(broken))


def _last_line(view: TurnView, death: Death | None) -> str:
    if death is None or death.recovered is None:
        message = "the Turn ended without having been taken over"
        raise DemoFailedError(message)
    counts = f"takeovers={view.takeovers}, recovered in {death.recovered:.2f} s"
    return f"demo: {view.turn_id} {view.status}, {counts}"
