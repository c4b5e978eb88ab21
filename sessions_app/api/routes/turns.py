"""Turns: submitting them, reading them, and what they did."""

from ninja import Router
from pydantic import Field

from sessions_app.api.bodies import REQUEST_ID, Content
from sessions_app.api.operations import SESSION, THREAD, TURN, route, runtime
from sessions_app.api.parameters import (
    AtModelCall,
    AtRun,
    AtSession,
    AtStep,
    AtThread,
    AtTurn,
    ModelCallPages,
    Pages,
)
from sessions_app.contract.content import Wire
from sessions_app.contract.explanation import Explanation
from sessions_app.contract.grants import Operation
from sessions_app.contract.paging import Page
from sessions_app.contract.policy import SubmitPolicy
from sessions_app.contract.views import (
    ModelCallView,
    Receipt,
    RunView,
    StepView,
    ToolView,
    TurnView,
)
from sessions_app.contract.wire import model, page_model

router = Router(tags=["turns"])
RUN = TURN + "/runs/{runId}"


class NewTurn(Wire):
    """A task to be done; a repeat of the same request id finds the first Turn."""

    request_id: str = Field(pattern=REQUEST_ID)
    input: Content
    policy: SubmitPolicy = SubmitPolicy.QUEUE


@route(router, "POST", THREAD + "/turns", needs=Operation.SUBMIT, gives=model(Receipt), status=202)
def submit_turn(where: AtThread, body: NewTurn) -> Receipt | None:
    """Ask a Thread for a Turn; the receipt proves its admission and says what became of it."""
    turn = where.thread(runtime()).submit(body.request_id, body.input, body.policy)
    return turn.receipt


@route(router, "GET", SESSION + "/turns", needs=Operation.READ, gives=page_model(TurnView))
def list_turns(where: AtSession, page: Pages) -> Page[TurnView]:
    """Turns of all Threads of a Session, in the order in which they were made."""
    return where.session(runtime()).list_turns(page.after, page.limit)


@route(router, "GET", THREAD + "/turns", needs=Operation.READ, gives=page_model(TurnView))
def list_thread_turns(where: AtThread, page: Pages) -> Page[TurnView]:
    """Turns of a Thread in the order in which they run."""
    return where.thread(runtime()).list_turns(page.after, page.limit)


@route(router, "GET", TURN, needs=Operation.READ, gives=model(TurnView))
def get_turn(where: AtTurn) -> TurnView:
    """A Turn as it stands; `revision` grows with every change of its status."""
    return where.turn(runtime()).status()


@route(router, "GET", TURN + "/explain", needs=Operation.READ, gives=model(Explanation))
def explain_turn(where: AtTurn) -> Explanation:
    """Why a Turn is not running: the first cause, its facts, and what can be done."""
    return where.turn(runtime()).explain()


@route(router, "GET", TURN + "/tools", needs=Operation.READ, gives=page_model(ToolView))
def list_tools(where: AtTurn, page: Pages) -> Page[ToolView]:
    """Tool calls of a Turn in the order in which the model made them, wherever they ran."""
    return where.turn(runtime()).list_tools(page.after, page.limit)


@route(router, "GET", TURN + "/runs", needs=Operation.READ, gives=page_model(RunView))
def list_runs(where: AtTurn, page: Pages) -> Page[RunView]:
    """Invocations of a Turn, the first one first."""
    return where.turn(runtime()).list_runs(page.after, page.limit)


@route(router, "GET", RUN, needs=Operation.READ, gives=model(RunView))
def get_run(where: AtRun) -> RunView:
    """One invocation of a Turn."""
    return where.turn(runtime()).get_run(where.run_id)


@route(router, "GET", RUN + "/steps", needs=Operation.READ, gives=page_model(StepView))
def list_steps(where: AtRun, page: Pages) -> Page[StepView]:
    """Phases of one Run."""
    return where.turn(runtime()).list_steps(where.run_id, page.after, page.limit)


@route(router, "GET", RUN + "/model-calls", needs=Operation.READ, gives=page_model(ModelCallView))
def list_model_calls(where: AtRun, page: ModelCallPages) -> Page[ModelCallView]:
    """Model requests of one Run, or of one Step of it."""
    turn = where.turn(runtime())
    return turn.list_model_calls(where.run_id, page.step_id, page.after, page.limit)


@route(router, "GET", TURN + "/steps/{stepId}", needs=Operation.READ, gives=model(StepView))
def get_step(where: AtStep) -> StepView:
    """One Step of any Run of a Turn."""
    return where.turn(runtime()).get_step(where.step_id)


@route(
    router,
    "GET",
    TURN + "/model-calls/{modelCallId}",
    needs=Operation.READ,
    gives=model(ModelCallView),
)
def get_model_call(where: AtModelCall) -> ModelCallView:
    """One model request of any Run of a Turn."""
    return where.turn(runtime()).get_model_call(where.model_call_id)
