"""`python -m tests.bench.console`: every page of the console over 200,000 realistic events, on PostgreSQL.

The goal is a median of at most 200 ms over five loads. Pages that query Redmine query the mock, which is nearly empty.
"""

from __future__ import annotations

import argparse
import sys

from tests.bench import organisation, pages
from tests.bench.servers import servers

GOAL_MS = 200.0
PERSON = organisation.PERSON + 77
MAIL = "person77@example.test"
PAGES = (
    "/account",
    "",
    "/events",
    "/events?state=done",
    "/events?state=failed",
    "/events?state=on_hold",
    "/events?state=pending",
    "/events?state=skipped",
    "/events?state=superseded",
    "/events?kind=ticket_task.updated",
    "/events?kind=ticket_task.deleted",
    f"/events?person={PERSON}",
    "/events?person=9999",
    f"/events?person={PERSON}&state=failed",
    f"/events?person={PERSON}&state=done&last=day",
    f"/events?person={MAIL}",
    "/events?person=Person+77+Miller",
    "/events?person=miller",
    "/events?place=entity:7",
    "/events?place=Site+7",
    "/events?place=entity:999",
    "/events?place=Nowhere",
    "/events?place=entity:7&state=failed",
    "/events?cause=gave_up",
    "/events?cause=no_link",
    "/events?cause=time_logged",
    "/events?cause=nothing",
    "/events?last=hour",
    "/events?last=day",
    "/events?last=week",
    "/events?last=week&state=failed",
    "/events?last=week&state=done&kind=ticket.updated",
    "/events?ticket=20000",
    "/events?event=100000",
    "/events?below=1000",
    "/events?above=1000",
    "/events?state=done&below=1000",
    "/events?state=failed&below=60000",
    f"/events?person={PERSON}&below=20000",
    "/events?place=entity:7&below=20000",
    "/tickets/20000",
    "/held",
    "/held?after=10",
    "/held/ticket/3",
    "/links",
    "/links?kind=project",
    "/links/entity/20",
    "/people",
    f"/people/{PERSON}",
    "/people?find=77",
    "/people?only=new",
    "/authors",
    "/hours",
    "/hours?month=2026-10",
    "/templates",
    "/templates/new?operation=issue.create",
    "/templates/new?operation=time_entry.create",
    "/settings",
    "/settings/defaults",
    "/settings/status-map",
    "/settings/behaviour",
    "/settings/notifications",
    "/settings/statuses",
    "/doctor",
    "/knowledge/KB-TRACKER-002",
    "/changes",
    "/changes/1",
    "/access",
    "/search?q=20000",
    "/search?q=%23500",
    "/search?q=Printer",
    "/search?q=Printer+17",
    "/search?q=nothing+has+this",
    f"/search?q={MAIL}",
    "/search?q=Person+77",
    "/search?q=Unknown+Person",
    "/search/projects?q=Site",
    "/search/users?q=person",
)
API = (
    "/api/events",
    "/api/events?state=failed",
    "/api/events?last=day",
    f"/api/events?person={PERSON}",
    "/api/events?place=entity:7",
    "/api/events?cause=gave_up",
    "/api/events?below=1000",
    "/api/changes",
    "/api/held",
    "/api/misattributed",
    "/api/trace/20000",
    "/api/hours?month=2026-11",
    "/api/links",
    "/api/user-map",
)


def main() -> int:
    """Print the milliseconds of each page; return 1 if a page is slower than the goal."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.console", description=__doc__)
    parser.add_argument("--events", type=int, default=organisation.EVENTS)
    parser.add_argument("only", nargs="*", help="pages whose address has one of these texts in it")
    arguments = parser.parse_args()
    slow = []
    with servers() as started, pages.large_console(started, fillings=()) as (database, load):
        organisation.fill(database, arguments.events)
        for page in (*(f"/console{one}" for one in PAGES), *API):
            if arguments.only and not any(one in page for one in arguments.only):
                continue
            took, kilobytes = load(page)
            mark = "  SLOW" if took > GOAL_MS else ""
            slow += [page] if mark else []
            print(f"{page:60} {took:8.1f} ms, {kilobytes:.0f} KB{mark}", flush=True)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
