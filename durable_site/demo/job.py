"""The demo's one Turn: submitted and read through the Python API, as any program would."""

from collections.abc import Sequence

from durable_site.demo.script import PROMPT
from sessions_app.contract.events import EventView
from sessions_app.contract.status import RunStatus
from sessions_app.contract.views import RunView, TurnView
from sessions_app.models import Host, ToolCall
from sessions_app.runtime import DurableRuntime

AGENT = "night-report"


class Job:
    """Submits the Turn and reads how it goes; reading starts nothing."""

    def __init__(self) -> None:
        self._runtime = DurableRuntime()
        session = self._runtime.create_session("demo", "tonight", agent=AGENT)
        self._turn = session.submit("night-report", PROMPT)
        self._cursor: str | None = None

    def view(self) -> TurnView:
        """Return where the Turn stands."""
        return self._turn.status()

    def news(self) -> Sequence[EventView]:
        """Return the Turn's events since the last call, in order."""
        page = self._turn.list_events(self._cursor)
        self._cursor = page.next_cursor
        return page.items

    def why(self) -> str:
        """Return in words what holds the Turn up."""
        return self._turn.explain().text

    def owner(self) -> int | None:
        """Return the process id of the Brain that runs the Turn now."""
        return next((_pid(run) for run in self._runs() if run.status == RunStatus.OPEN), None)

    def process_of(self, run_id: str) -> int | None:
        """Return the process id of the Brain that a run belongs to."""
        return next((_pid(run) for run in self._runs() if run.run_id == run_id), None)

    def model_calls(self) -> list[str]:
        """Return the status of every model call, run by run."""
        runs = self._runs()
        return [c.status for run in runs for c in self._turn.list_model_calls(run.run_id).items]

    def executions(self) -> list[str]:
        """Return the execution id of every tool call."""
        calls = ToolCall.objects.filter(turn_id=self._turn.turn_id)
        return list(calls.values_list("id", flat=True))

    def close(self) -> None:
        """Give back what the API holds."""
        self._runtime.close()

    def _runs(self) -> Sequence[RunView]:
        return self._turn.list_runs().items


def _pid(run: RunView) -> int | None:
    """Return the process id of a run's host, which the API does not tell."""
    return Host.objects.filter(pk=run.host_id).values_list("pid", flat=True).first()
