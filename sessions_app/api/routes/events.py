"""The timeline as pages, and all that is public at one cursor."""

from ninja import Router

from sessions_app.api.operations import SESSION, route, runtime
from sessions_app.api.parameters import AtSession, EventPages, Within
from sessions_app.contract.events import EventView
from sessions_app.contract.grants import Operation
from sessions_app.contract.paging import EventPage
from sessions_app.contract.snapshot import Snapshot
from sessions_app.contract.wire import event_page_model, model

router = Router(tags=["events"])


@route(
    router,
    "GET",
    SESSION + "/events",
    needs=Operation.READ,
    gives=event_page_model(EventView),
    refuses=(410,),
)
def list_events(where: AtSession, page: EventPages) -> EventPage[EventView]:
    """Persisted events: of a whole Session gapless, of a scope sparse.

    `limit` counts events examined, so a page may be empty and still advance; at the end `through`
    is `lastSequence`.
    """
    session = where.session(runtime())
    return session.list_events(page.after, page.limit, page.within(session))


@route(router, "GET", SESSION + "/snapshot", needs=Operation.READ, gives=model(Snapshot))
def get_snapshot(where: AtSession, scope: Within) -> Snapshot:
    """All that is public of a Session or a scope of it, at one cursor."""
    session = where.session(runtime())
    return session.snapshot(scope.within(session))
