"""LangGraph with its PostgreSQL saver: a graph whose super-steps are checkpoints.

It has no queue and no recovery of its own: the worker is a pool of two threads in the client.
Mode `sync`: a step's checkpoint is written before the next step begins.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypedDict

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

from tests.benchmarks import effects
from tests.benchmarks.engine import Engine
from tests.benchmarks.loads import STEPS, Stamps, model_step, tool_step
from tests.benchmarks.peers.databases import make_database

_THREADS: Final = 2
Running = tuple[str, Future[None]]


class State(TypedDict):
    """What the graphs carry."""

    key: str
    first: dict[str, Any]
    found: dict[str, Any]
    last: dict[str, Any]
    number: int


def make(mode: str) -> Engine:
    """Give the engine."""
    return LangGraphEngine("langgraph", mode)


class LangGraphEngine(Engine):
    """Client and worker in one process."""

    def __init__(self, name: str, mode: str) -> None:
        """Connect nothing yet."""
        super().__init__(name, mode)
        self._url = make_database("bench_langgraph")
        self._stamps: dict[str, Stamps] = {}

    def setup(self) -> None:
        """Let it make its tables."""
        with self._connections() as pool:
            PostgresSaver(pool).setup()

    def worker(self) -> None:
        """Its work is done in the client."""
        raise AssertionError  # nobody may start it

    def start(self, workers: int) -> None:
        """Start nothing."""

    def open(self) -> None:
        """Connect and compile the graphs."""
        pool = self._connections()
        pool.wait()
        saver = PostgresSaver(pool)
        self._threads = ThreadPoolExecutor(_THREADS)
        graphs = {"turn": _turn(), "long": self._long(), "signal": _signal()}
        self._graphs = {kind: graph.compile(checkpointer=saver) for kind, graph in graphs.items()}

    def submit(self, kind: str, key: str) -> Running:
        """Hand it to the pool."""
        return key, self._threads.submit(self._run, kind, key)

    def wait(self, handle: Running) -> None:
        """Wait for the pool."""
        handle[1].result()

    def signal(self, handle: Running, key: str) -> None:
        """Resume, in the caller."""
        del handle
        self._invoke("signal", Command(resume="go"), key)

    def _run(self, kind: str, key: str) -> None:
        self._invoke(kind, {"key": key, "number": 0}, key)
        if kind == "long":
            self._stamps[key].done()
        if kind == "signal":
            effects.note("waiting", key)

    def _invoke(self, kind: str, given: object, key: str) -> None:
        configuration = {"configurable": {"thread_id": key}, "recursion_limit": 3 * STEPS}
        self._graphs[kind].invoke(given, configuration, durability=self.mode)

    def _long(self) -> Any:
        def step(state: State) -> dict[str, Any]:
            self._stamps.setdefault(state["key"], Stamps(state["key"])).step()
            return {"number": state["number"] + 1, "first": model_step()}

        graph: Any = StateGraph(State)
        graph.add_node("step", step)
        graph.add_edge(START, "step")
        graph.add_conditional_edges("step", _next)
        return graph

    def _connections(self) -> Any:
        options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
        return ConnectionPool(self._url, min_size=_THREADS, max_size=_THREADS, kwargs=options)


def _turn() -> Any:
    graph: Any = StateGraph(State)
    graph.add_node("a", lambda _state: {"first": model_step()})
    graph.add_node("b", lambda _state: {"found": tool_step()})
    graph.add_node("c", lambda _state: {"last": model_step()})
    for begin, end in ((START, "a"), ("a", "b"), ("b", "c"), ("c", END)):
        graph.add_edge(begin, end)
    return graph


def _next(state: State) -> str:
    return END if state["number"] >= STEPS else "step"


def _signal() -> Any:
    def wait(state: State) -> dict[str, Any]:
        answer = interrupt("go?")
        effects.note("resumed", state["key"])
        return {"found": {"answer": answer}}

    graph: Any = StateGraph(State)
    graph.add_node("wait", wait)
    graph.add_edge(START, "wait")
    graph.add_edge("wait", END)
    return graph
