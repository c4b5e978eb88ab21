"""Runs and looks after Hands: tools in processes of their own, behind a ledger.

To begin: write tools, name their module in DURABLE_HANDS_TOOLS, then

  python -m hands_app migrate      make the ledger's tables (HANDS_DATABASE_URL)
  python -m hands_app tools        see what a worker would serve
  celery -A hands_app.celery worker -Q durable.hands.commands
  celery -A hands_app.celery worker -Q durable.hands.controls --pool solo
  python -m hands_app status       see what happens; --help of each command says more

Exit status: 0 all is well, 1 something needs you, 2 refused, 3 unavailable (try again),
5 the ledger has another schema, 6 this installation cannot. Errors are one line on standard error.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, Final

from hands_app.contract import schema_files
from hands_app.contract.catalogue import load_catalogue
from hands_app.contract.errors import (
    HandsError,
    Incompatible,
    Rejected,
    SchemaMismatch,
    Unavailable,
)
from hands_app.contract.evidence import add_evidence, read_evidence
from hands_app.contract.queues import DEFAULT_ROUTE, route_name
from hands_app.host import Host
from hands_app.ledger import reconciling, schema, showing
from hands_app.ledger.engine import Database
from hands_app.ledger.retention import SqlRetention
from hands_app.ledger.summary import LATE, summary
from hands_app.settings import read_environment
from hands_app.transports.app import make_app
from hands_app.transports.sidecar import Sidecar
from hands_app.transports.token import token_for
from hands_app.transports.updates import CeleryUpdates
from hands_app.worker.ports import HostProfile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hands_app.worker.configuration import Configuration

_SWEEP_SECONDS: Final = 2.5
_PRUNE_BATCH: Final = 200
_CONNECTIONS: Final = 200


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status."""
    given = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        configuration = read_environment()
        configuration.make_state_dir()
        return _COMMANDS[given.command](configuration, given)
    except HandsError as error:
        sys.stderr.write(f"{error.code}: {error}\n")
        return next((status for kind, status in _STATUS if isinstance(error, kind)), 6)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m hands_app",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    own = {
        name: commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        for name, run in _COMMANDS.items()
    }
    add_evidence(own["reconcile"])
    own["show"].add_argument("execution", help="its id, exe_…, as the Brain shows it")
    serve = own["serve"]
    serve.add_argument("--host", default="127.0.0.1", help="address (%(default)s)")
    serve.add_argument("--port", type=int, default=8700, help="%(default)s")
    serve.add_argument("--route", type=route_name, default=DEFAULT_ROUTE, help="%(default)s")
    own["status"].add_argument(
        "--late",
        type=float,
        default=LATE,
        metavar="SECONDS",
        help="how long work and updates may wait before it is a problem (%(default)s)",
    )
    return parser


def _migrate(configuration: Configuration, _: argparse.Namespace) -> int:
    """Bring the ledger's schema to the newest version."""
    with closing(Database(configuration.ledger_url)) as database:
        schema.migrate(database)
    _say("the ledger's schema is current")
    return 0


def _check(configuration: Configuration, _: argparse.Namespace) -> int:
    """See that the schema is current, and name tools whose effect class nobody chose."""
    with closing(Database(configuration.ledger_url)) as database:
        schema.check(database)
        doubted = reconciling.contradictions(database)
    tools = load_catalogue(configuration.tools)
    _say(f"the ledger's schema is current; {len(tools)} tools")
    for name in tools.unchosen():
        _say(f"tool {name}: nobody chose an effect class, so it counts as `once`")
    for each in doubted:
        _say(
            f"{each.execution_id} was reconciled as {each.verified} by request {each.request_id}, "
            f"but its worker reported {each.observed}: look at the evidence again"
        )
    return 0


def _status(configuration: Configuration, given: argparse.Namespace) -> int:
    """Print what stands in the ledger, as JSON; exit status 1 when something needs somebody."""
    with closing(Database(configuration.ledger_url)) as database:
        schema.check(database)
        found = summary(database, late=given.late, lease=configuration.lease)
    _say(json.dumps(found, indent=2))
    return 1 if found["problems"] else 0


def _tools(configuration: Configuration, _: argparse.Namespace) -> int:
    """Print the tools of this environment, as JSON: what a worker that starts here would have."""
    found = [
        {
            "name": tool.name,
            "version": tool.binding.version,
            "route": tool.binding.route,
            "effect": tool.binding.effect.value,
            "effectChosen": tool.effect_chosen,
            "digest": tool.binding.digest,
        }
        for tool in load_catalogue(configuration.tools)
    ]
    _say(json.dumps(found, indent=2))
    return 0


def _show(configuration: Configuration, given: argparse.Namespace) -> int:
    """Print what is known of one execution, as JSON, and what may be done; it runs nothing."""
    with closing(Database(configuration.ledger_url)) as database:
        schema.check(database)
        _say(json.dumps(showing.show(database, given.execution), indent=2))
    return 0


def _scan(configuration: Configuration, _: argparse.Namespace) -> int:
    """Sweep once as a host without slots: settle orphans and publish what waits."""
    publisher = CeleryUpdates(make_app(configuration), configuration.updates_queue)
    with closing(Host(configuration, HostProfile("control", (), 0), publisher)) as host:
        host.start()
        time.sleep(_SWEEP_SECONDS)
        _say(f"settled {host.sweeper.settled} executions without an owner")
    return 0


def _serve(configuration: Configuration, given: argparse.Namespace) -> int:
    """Run the tools of a route and serve them over HTTP, until SIGTERM."""
    import uvicorn  # noqa: PLC0415 - only a sidecar needs it

    token = token_for(given.host, configuration.state_dir)
    profile = HostProfile("work", (given.route,), configuration.slots)
    with closing(Host(configuration, profile, None)) as host:
        host.start()
        sidecar = Sidecar(host, host.shelf, token)
        with closing(sidecar):
            uvicorn.run(
                sidecar,
                host=given.host,
                port=given.port,
                access_log=False,
                server_header=False,
                limit_concurrency=_CONNECTIONS,
                timeout_graceful_shutdown=_SWEEP_SECONDS.__ceil__(),
            )
            host.drain()
    return 0


def _reconcile(configuration: Configuration, given: argparse.Namespace) -> int:
    """End one UNKNOWN as somebody verified it; a host of the pool tells the Brain."""
    asked = read_evidence(given)
    with closing(Database(configuration.ledger_url)) as database:
        schema.check(database)
        receipt = reconciling.reconcile(database, asked).outcome
    _say(f"{receipt.execution_id} is {receipt.state}, request {receipt.request_id}")
    _say(f"  recorded at {receipt.at.isoformat()} by {receipt.operator}: {receipt.evidence}")
    return 0


def _prune(configuration: Configuration, _: argparse.Namespace) -> int:
    """Take away all of ended executions whose time has passed, in small steps."""
    with closing(Database(configuration.ledger_url)) as database:
        schema.check(database)
        retention = SqlRetention(database, details=configuration.details)
        emptied = removed = hosts = 0
        while (pruned := retention.prune(_PRUNE_BATCH)).total:
            emptied, removed = emptied + pruned.emptied, removed + pruned.removed
            hosts += pruned.hosts
    _say(f"took the details of {emptied} executions, {removed} executions, {hosts} hosts")
    return 0


def _schemas(_configuration: Configuration, _: argparse.Namespace) -> int:
    """Write the JSON Schema files of the contract from its types."""
    for name in schema_files.write():
        _say(f"{name}.json")
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


_STATUS: Final = ((Rejected, 2), (Unavailable, 3), (SchemaMismatch, 5), (Incompatible, 6))
_COMMANDS: Final[Mapping[str, Callable[[Configuration, argparse.Namespace], int]]] = {
    "migrate": _migrate,
    "check": _check,
    "tools": _tools,
    "status": _status,
    "show": _show,
    "scan": _scan,
    "prune": _prune,
    "serve": _serve,
    "reconcile": _reconcile,
    "schemas": _schemas,
}
