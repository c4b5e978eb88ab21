"""Restate: its own server with a log on disk (flushed by default), our handlers over HTTP/2.

Each round starts the server of the npm package anew, with its default settings and an empty log.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import restate
from hypercorn.asyncio import serve
from hypercorn.config import Config

from tests.benchmarks import effects
from tests.benchmarks.engine import SUBMITTERS, Engine
from tests.benchmarks.loads import STEPS, Stamps, model_step, tool_step

_INGRESS: Final = "http://127.0.0.1:58080"
_ADMIN: Final = "http://127.0.0.1:59070"
_NODE: Final = "127.0.0.1:55122"
_HANDLERS: Final = 59080
_SETTINGS: Final = {
    "RESTATE_BIND_ADDRESS": _NODE,
    "RESTATE_ADVERTISED_ADDRESS": f"http://{_NODE}",
    "RESTATE_ADMIN__BIND_ADDRESS": urlsplit(_ADMIN).netloc,
    "RESTATE_INGRESS__BIND_ADDRESS": urlsplit(_INGRESS).netloc,
    "DO_NOT_TRACK": "1",
}
_STARTS: Final = 20.0
_LOOK: Final = 0.2
_PATIENCE: Final = 120
_connections = threading.local()


def make(mode: str) -> Engine:
    """Give the engine."""
    return RestateEngine("restate", mode)


class RestateEngine(Engine):
    """A client of the ingress; the worker is the process of the handlers."""

    settle_seconds = 2.5

    def setup(self) -> None:
        """See that the server's program is there."""
        if not _program().exists():
            msg = f"{_program()} is not there; npm installs @restatedev/restate-server"
            raise FileNotFoundError(msg)

    def worker(self) -> None:
        """Serve the handlers."""
        settings = Config()
        settings.bind = [f"127.0.0.1:{_HANDLERS}"]
        settings.loglevel = "ERROR"
        settings.h2_max_concurrent_streams = 2**31 - 1
        settings.keep_alive_max_requests = 2**31 - 1
        settings.keep_alive_timeout = 3600
        asyncio.run(serve(_handlers(), settings))

    def open(self) -> None:
        """Start the server; the client connects at its first request."""
        settings = (f"{name}={value}" for name, value in _SETTINGS.items())
        base = effects.folder() / f"restate-{time.time_ns()}"
        self._server = self._spawn(("env", *settings, str(_program()), "--base-dir", str(base)))
        os.environ["BENCH_RESTATE_PID"] = str(self._server.pid)
        deadline = time.monotonic() + _STARTS
        while not _is_up():
            if time.monotonic() > deadline:
                msg = f"restate-server did not come up within {_STARTS:.0f} s"
                raise TimeoutError(msg)
            time.sleep(_LOOK)

    def wait_ready(self, workers: int) -> None:
        """Tell the server where the handlers are."""
        super().wait_ready(workers)
        _ask(_ADMIN, "POST", "/deployments", {"uri": f"http://127.0.0.1:{_HANDLERS}"})

    def stop(self) -> None:
        """End the server as well."""
        super().stop()
        self.kill(self._server)

    def submit(self, kind: str, key: str) -> str:
        """Send an invocation."""
        return str(_ask(_INGRESS, "POST", f"/Bench/{kind}/send", key)["invocationId"])

    def wait(self, handle: str) -> None:
        """Attach to it."""
        _ask(_INGRESS, "GET", f"/restate/invocation/{handle}/attach")

    def wait_all(self, handles: list[str]) -> None:
        """Attach to all."""
        with ThreadPoolExecutor(SUBMITTERS) as pool:
            list(pool.map(self.wait, handles))

    def signal(self, handle: str, key: str) -> None:
        """Resolve the awakeable whose id the handler left."""
        del handle
        awaited = _awakeable(key).read_text()
        _ask(_INGRESS, "POST", f"/restate/awakeables/{awaited}/resolve", "go")


def _handlers() -> Any:
    service: Any = restate.Service("Bench")
    for name, body in (("turn", _turn), ("long", _long), ("signal", _signal)):
        service.handler(name)(body)
    return restate.app([service])


async def _turn(ctx: restate.Context, key: str) -> str:
    await ctx.run_typed(f"m0 {key}", model_step)
    await ctx.run_typed("t", tool_step)
    return str((await ctx.run_typed("m1", model_step))["role"])


async def _long(ctx: restate.Context, key: str) -> str:
    stamps = Stamps(key)
    for _ in range(STEPS):
        stamps.step()
        await ctx.run_typed("s", model_step)
    stamps.done()
    return key


async def _signal(ctx: restate.Context, key: str) -> str:
    name, promise = ctx.awakeable()
    _awakeable(key).write_text(name)
    effects.note("waiting", key)
    await promise
    effects.note("resumed", key)
    return key


def _awakeable(key: str) -> Path:
    return effects.folder() / f"awakeable-{key}"


def _program() -> Path:
    return Path(sys.executable).parents[1] / "node_modules" / ".bin" / "restate-server"


def _is_up() -> bool:
    with suppress(OSError, http.client.HTTPException, RuntimeError):
        _ask(_ADMIN, "GET", "/health")
        return True
    return False


def _ask(where: str, method: str, path: str, body: object = None) -> Any:
    """Ask over a lasting connection of this thread; a connection that broke is made anew once."""
    made: dict[str, http.client.HTTPConnection] = _connections.__dict__
    text = None if body is None else json.dumps(body)
    head = {} if body is None else {"content-type": "application/json"}
    for again in (True, False):
        connection = made.setdefault(
            where, http.client.HTTPConnection(urlsplit(where).netloc, timeout=_PATIENCE)
        )
        try:
            connection.request(method, path, text, head)
            answer = connection.getresponse()
            said = answer.read()
        except (http.client.HTTPException, ConnectionError):
            made.pop(where).close()
            if not again:
                raise
        else:
            if answer.status >= http.HTTPStatus.MULTIPLE_CHOICES:
                msg = f"{path}: {answer.status} {said[:300]!r}"
                raise RuntimeError(msg)
            return json.loads(said) if said else None
    return None
