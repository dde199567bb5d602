"""The journal: what came in, what became of it, and doing again what matches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastapi import Request
from starlette.datastructures import QueryParams
from starlette.responses import Response

from producer.admin.catching_up.replay import REPLAYABLE, replay_matching
from producer.admin.looking.events import event_page
from producer.admin.records.event_search import Wanted
from producer.admin.showing.waiting import with_reasons
from producer.console.drawing.fixing import fix
from producer.console.drawing.view import address
from producer.console.entry.answers import AtDesk
from producer.console.entry.visitors import Fields
from producer.console.pages.parts import PAGE, Form, go, page_router, show
from producer.console.pages.times import typed_moment
from producer.web.problems import Problem
from shared.events.event import DELETIONS, EVENTS
from shared.notices.access import AccessRefusal
from shared.store.tables.journal import EventState
from shared.values.ids import read_id

router = page_router()
PATH = "/console/events"
KINDS = (*EVENTS, *DELETIONS, "unreadable")
FILTERS = ("state", "kind", "ticket", "code", "cause", "from", "to")


@router.get("/events")
def events(request: Request, desk: AtDesk) -> Response:
    """List the events that match, newest first."""
    asked = request.query_params
    given = {name: asked.get(name, "").strip() for name in FILTERS}
    wanted = _wanted(asked)
    below, above = _number(asked.get("below")), _number(asked.get("above"))
    is_filtered = any(given.values())
    found = event_page(desk.store, wanted, size=PAGE, below=below, above=above, grouped=not is_filtered)
    rows = found.rows
    return show(
        request,
        "events",
        given=given,
        rows=with_reasons(rows, desk.redis),
        kinds=KINDS,
        states=list(EventState),
        matching=found.matching,
        groups=found.groups,
        fix=fix,
        is_filtered=is_filtered,
        may_replay=wanted.state in REPLAYABLE,
        upto=found.newest,
        newer=address(PATH, **given, above=rows[0].id) if found.has_newer else None,
        older=address(PATH, **given, below=rows[-1].id) if found.has_older else None,
    )


@router.post("/events/replay")
def replay(desk: AtDesk, form: Form) -> Response:
    """Replay what matches, up to the highest id that was seen; nothing that came in since."""
    upto = form.number("upto")
    wanted = replace(_wanted(form), upto=upto)
    if wanted.state not in REPLAYABLE or upto is None:
        raise Problem(422, "Not valid", why=AccessRefusal.NOT_REPLAYED_TOGETHER())
    done, change = replay_matching(desk, wanted)
    if change is None:
        return go(PATH, "nothing")
    return go(f"/console/changes/{change}", "unreadable" if done.unreadable else "replayed")


def _wanted(given: QueryParams | Fields) -> Wanted:
    read: Any = given.text if isinstance(given, Fields) else lambda name: (given.get(name) or "").strip()
    state, kind = read("state"), read("kind")
    return Wanted(
        state=state if state in list(EventState) else None,
        kind=kind if kind in KINDS else None,
        ticket_id=_number(read("ticket")),
        code=read("code")[:64] or None,
        cause=read("cause")[:64] or None,
        since=typed_moment(read("from"), read("offset")),
        until=typed_moment(read("to"), read("offset")),
    )


def _number(text: str | None) -> int | None:
    return read_id((text or "").strip().removeprefix("#"))
