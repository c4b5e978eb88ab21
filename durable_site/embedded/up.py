"""Runs the embedded system until it is told to stop, and says what it does."""

import os
import secrets
import signal
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from durable_site.demo.source import MODEL_VARIABLE, PROVIDER_VARIABLE
from durable_site.embedded import access, assembly, roles, signin
from durable_site.embedded.console import Console
from durable_site.embedded.folder import Claim
from durable_site.embedded.process import Phase, RoleProcess
from durable_site.embedded.roles import Role
from durable_site.embedded.servers import start_postgres, start_redis
from durable_site.embedded.supervisor import RoleFailedError, Supervisor


@dataclass(frozen=True)
class Wishes:
    """What the person who starts the system asked for."""

    folder: Path
    port: int | None = None
    brains: int = 2
    full: bool = False


def run(wishes: Wishes, console: Console) -> None:
    """Run until KeyboardInterrupt; everything that was started has ended when this returns."""
    with ExitStack() as stack:
        claim = stack.enter_context(Claim(wishes.folder))
        env = assembly.embedded_environment(claim.folder)
        if wishes.full:
            console.line("starting a private PostgreSQL and Redis")
            env |= _private_servers(claim.folder, stack)
        _Running(wishes, claim, env, console).run(stack)


class _Running:
    """One run of the embedded system, whose databases and broker are there."""

    def __init__(self, wishes: Wishes, claim: Claim, env: dict[str, str], console: Console) -> None:
        self._wishes = wishes
        self._claim = claim
        self._env = env
        self._console = console
        self._began = time.monotonic()
        self._login = f"operator:{secrets.token_urlsafe(12)}"

    def run(self, stack: ExitStack) -> None:
        web = stack.enter_context(assembly.listen(self._wishes.port))
        wanted = assembly.every_role(self._env, web, self._wishes.brains)
        wanted += self._extra_roles(stack)
        self._console.line("migrating the databases of Brain and Hands")
        assembly.migrate(self._env)
        stack.callback(signin.forget_all, self._claim.folder)
        supervisor = Supervisor(
            self._env,
            wanted,
            claim=self._claim,
            grace=assembly.grace(self._env),
            report=self._report,
        )
        with supervisor:
            address = assembly.address(web)
            self._claim.note(address)
            token = access.issue(self._env)
            stack.callback(self._withdraw, token)
            self._welcome(address, token.secret)
            self._wait_for_the_end()

    def _extra_roles(self, stack: ExitStack) -> list[Role]:
        """Return the scripted provider, unless a real model was named, and Flower if wished."""
        extra = []
        if not os.environ.get(MODEL_VARIABLE):
            listening = stack.enter_context(assembly.listen(0))
            self._env[PROVIDER_VARIABLE] = f"{assembly.address(listening)}/v1"
            extra.append(roles.provider(listening.fileno()))
        if self._wishes.full:
            extra.append(roles.flower(self._login))
        return extra

    def _withdraw(self, token: access.Access) -> None:
        try:
            access.withdraw(self._env, token)
        except RoleFailedError as error:
            self._console.line(f"the token holds for the rest of its day: {error}")

    def _welcome(self, address: str, secret: str) -> None:
        paint = self._console.paint
        self._console.line()
        self._console.line(f"  {paint('bold', address)}")
        self._console.line(f"  sign in once: {address}{signin.mint(self._claim.folder)}")
        self._console.line(f"  token of this run: {secret}")
        self._console.line(f"  API: {address}/api/docs")
        self._console.line(f"  logs: {self._claim.folder / 'logs'}")
        self._console.line("  Ctrl-C stops everything")
        self._console.line()

    def _wait_for_the_end(self) -> None:
        try:
            while True:
                signal.pause()
        except KeyboardInterrupt:
            self._console.line("stopping")

    def _report(self, process: RoleProcess) -> None:
        """Say how a role does; called from the role's own thread."""
        seconds = time.monotonic() - self._began
        match process.phase:
            case Phase.READY:
                mark, words = self._console.paint("green", "●"), f"ready after {seconds:.1f} s"
            case Phase.RESTING:
                mark, words = (
                    self._console.paint("red", "●"),
                    f"died ({process.ending}), starts again; see its log",
                )
            case Phase.DEAD:
                mark, words = self._console.paint("red", "●"), f"ended ({process.ending})"
            case Phase.STARTING | Phase.STOPPED:
                return
        self._console.line(f"  {mark} {process.role.name:<15}{words}{self._where(process)}")

    def _where(self, process: RoleProcess) -> str:
        found = roles.FLOWER_READY.search(process.ready_line)
        return f" on {found[1]} as {self._login}" if found else ""


def _private_servers(folder: Path, stack: ExitStack) -> dict[str, str]:
    postgres = stack.enter_context(start_postgres(folder / "postgres"))
    redis = stack.enter_context(start_redis())
    hands = postgres.database("hands")
    return {
        "DATABASE_URL": postgres.database("durable"),
        "HANDS_DATABASE_URL": hands.replace("postgresql:", "postgresql+psycopg:", 1),
        "REDIS_URL": redis.url,
    }
