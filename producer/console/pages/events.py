"""The journal: events, their results, and the replay of events that match a filter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastapi import Request
from starlette.responses import Response

from producer.admin.backfill.replay import REPLAYABLE, replay_matching
from producer.admin.backfill.replay import replay as replay_chosen
from producer.admin.configuration import configuration
from producer.admin.presenters.waiting import with_reasons
from producer.admin.queries.events import (
    KINDS,
    LAST,
    LONGEST_CODE,
    EventFilter,
    event_page,
    events_csv,
    events_json,
)
from producer.admin.records.event_search import Wanted
from producer.console.auth.answers import WithServices
from producer.console.auth.visitors import Fields
from producer.console.pages.filters import filters_of, is_filtered, period_of
from producer.console.pages.parts import PAGE, Form, download, fixes, go, page_router, show
from producer.console.rendering.addresses import address
from producer.console.rendering.fixing import Fixes
from producer.console.rendering.short import in_short, short_of
from producer.http.problems import Problem
from shared.errors import NotFound
from shared.notices.access import AccessRefusal
from shared.store.tables.journal import EventState
from shared.values.ids import read_id

router = page_router()
PATH = "/console/events"
FILTERS = ("state", "person", "place", "cause", "last", "kind", "ticket", "event")
FOLDED = ("kind", "ticket", "event", "from", "to")
"""Filters that are collapsed until a user opens them or has set one of them."""

MOST_CHOSEN = 200
CHOICES = {"state": tuple(EventState), "kind": KINDS, "last": tuple(LAST)}


@router.get("/events")
def events(request: Request, services: WithServices) -> Response:
    """List the matching events, newest first."""
    asked = request.query_params
    given = filters_of(asked, FILTERS)
    wanted = _wanted(given)
    below, above = _number(asked.get("below")), _number(asked.get("above"))
    found = event_page(services.store, wanted, size=PAGE, below=below, above=above)
    rows = found.rows
    to_fix = fixes(request)
    return show(
        request,
        "events",
        given=given,
        rows=[
            (row, why, found.subjects[row.id], _fix_of(to_fix, found.subjects[row.id].entity_id))
            for row, why in with_reasons(rows, services.redis)
        ],
        kinds=KINDS,
        states=CHOICES["state"],
        spans=CHOICES["last"],
        matching=found.matching,
        groups=found.groups,
        cause_names=_cause_names(found.groups, given["cause"]),
        base_url=configuration.current(services.store).base_url,
        fix=to_fix,
        in_short=in_short,
        is_filtered=is_filtered(given),
        is_unfolded=any(given[name] for name in FOLDED),
        may_replay=wanted.state in REPLAYABLE,
        replayable=REPLAYABLE,
        upto=found.newest,
        csv=address(f"{PATH}.csv", **given),
        json=address(f"{PATH}.json", **given),
        looked=found.looked,
        newer=address(PATH, **given, above=found.newer) if found.has_newer else None,
        older=address(PATH, **given, below=found.older) if found.has_older else None,
    )


@router.get("/events.csv")
def export_csv(request: Request, services: WithServices) -> Response:
    """Return the matching events as CSV."""
    found = events_csv(services, _wanted(filters_of(request.query_params, FILTERS)))
    return download(found, "deskbridge-events.csv")


@router.get("/events.json")
def export_json(request: Request, services: WithServices) -> Response:
    """Return the matching events as JSON."""
    found = events_json(services, _wanted(filters_of(request.query_params, FILTERS)))
    return download(found, "deskbridge-events.json", "application/json")


@router.post("/events/replay")
def replay(services: WithServices, form: Form) -> Response:
    """Replay the selected events, or all matching ones up to the highest id shown, without later arrivals."""
    if form.has("chosen"):
        return _replay_chosen(services, form)
    upto = form.number("upto")
    wanted = _wanted(filters_of(form, FILTERS), upto)
    if wanted.state not in REPLAYABLE or upto is None:
        raise Problem(422, "Not valid", why=AccessRefusal.NOT_REPLAYED_TOGETHER())
    done, change = replay_matching(services, wanted)
    if change is None:
        return go(PATH, "nothing")
    return go(f"/console/changes/{change}", "unreadable" if done.unreadable else "replayed")


def _replay_chosen(services: WithServices, form: Fields) -> Response:
    """Replay the selected events, as far as they are still stored."""
    back = address(PATH, **filters_of(form, FILTERS))
    chosen = [one for text in form.all("id")[:MOST_CHOSEN] if (one := read_id(text))]
    if not chosen:
        return go(back, "none-chosen")
    try:
        done = replay_chosen(services, chosen)
    except NotFound:
        return go(back, "nothing")
    return go(back, "unreadable" if done.unreadable else "replayed")


def _wanted(given: dict[str, str], upto: int | None = None) -> Wanted:
    """Build a filter from the parameters of an address; unknown choices are ignored."""
    since, until = period_of(given)
    chosen = {name: given[name] for name, choices in CHOICES.items() if given[name] in choices}
    asked = EventFilter.model_validate(
        {
            **chosen,
            "ticket": _number(given["ticket"]) or None,
            "person": given["person"],
            "place": given["place"],
            "cause": given["cause"][:LONGEST_CODE],
            "since": since,
            "until": until,
        }
    )
    return asked.wanted(event_id=_number(given["event"]) or None, upto=upto)


def _cause_names(groups: Any, chosen: str) -> dict[str, str]:
    """Return the labels of the causes to choose from, the chosen one included."""
    names = {group.cause: f"{in_short(group.notice)} ({group.count})" for group in groups[:20]}
    return names if not chosen or chosen in names else {**names, chosen: short_of(chosen) or chosen}


def _fix_of(found: Fixes, entity_id: int | None) -> Fixes:
    return found if entity_id is None else replace(found, link=("entity", entity_id))


def _number(text: str | None) -> int | None:
    return read_id((text or "").strip().removeprefix("#"))
