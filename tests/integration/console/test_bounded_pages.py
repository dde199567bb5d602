"""With very many events a page searches some of them, says which, and links to the others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from producer.admin.queries import events, kept_hours, searching
from producer.admin.queries.events import event_page
from producer.admin.queries.hours import HoursReport
from producer.admin.queries.kept_hours import KeptHours
from producer.admin.records.event_search import Wanted
from producer.admin.records.rights import Right
from producer.admin.services import Services
from shared.notices.reasons import Reason
from shared.store.tables.journal import EventState
from tests.integration.console.conftest import ComeIn, Console
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket
from tests.support.waiting import until

CLAIRE = {"id": 21, "email": "claire@example.test", "name": "Claire Martin"}
HUGO = {"id": 22, "email": "hugo@example.test", "name": "Hugo Petit"}


@pytest.fixture
def told(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> Bridge:
    """A deskbridge with nine events, of which a page searches three; Claire's are the 1st, 2nd, 5th and 9th."""
    monkeypatch.setattr(events, "LOOKED_THROUGH", 3)
    bridge.receive(
        *(
            task_event(
                of_ticket=ticket(
                    number, technician=None, entity_name=f"Site {number % 3}", entity_id=number % 3
                ),
                of_task=task(number, user=CLAIRE if number in (1, 2, 5, 9) else HUGO),
            )
            for number in range(1, 10)
        )
    )
    for number in range(1, 10):
        bridge.sync(number)
    return bridge


def leaves(
    bridge: Bridge, wanted: Wanted, size: int = 1
) -> Iterator[tuple[list[int], tuple[int, int] | None]]:
    """Return for each page, newest first, its events and the range of events that was searched."""
    below = None
    while True:
        found = event_page(bridge.store, wanted, size=size, below=below, above=None)
        yield [row.id for row in found.rows], found.looked
        if found.older is None:
            return
        below = found.older


def test_the_pages_of_a_persons_events_have_all_of_them(told: Bridge) -> None:
    assert list(leaves(told, Wanted(person="21"))) == [
        ([9], (7, 9)),
        ([5], (4, 6)),
        ([2], (1, 3)),
        ([1], (1, 1)),
    ]


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        (Wanted(person="hugo@example.test"), [8, 7, 6, 4, 3]),
        (Wanted(person="hugo petit"), []),
        (Wanted(place="entity:2"), [8, 5, 2]),
        (Wanted(place="Site 1"), [7, 4, 1]),
        (Wanted(person="21", place="entity:2"), [5, 2]),
        (Wanted(cause="no_link"), [9, 8, 7, 6, 5, 4, 3, 2, 1]),
        (Wanted(cause="gave_up"), []),
        (Wanted(person="9999"), []),
    ],
)
def test_whatever_no_index_finds_is_found_on_one_page_or_another(
    told: Bridge, wanted: Wanted, numbers: list[int]
) -> None:
    pages = list(leaves(told, wanted, size=2))
    assert [number for rows, _ in pages for number in rows] == numbers
    assert all(looked for _, looked in pages)


def test_the_page_before_is_led_to_as_well(told: Bridge) -> None:
    places, above = [], 1
    while True:
        found = event_page(told.store, Wanted(person="21"), size=5, below=None, above=above)
        places.append([row.id for row in found.rows])
        if found.newer is None:
            break
        above = found.newer
    assert places == [[2], [5], [9]]


def test_events_in_a_state_that_few_are_in_are_all_looked_through(told: Bridge) -> None:
    with told.store.transaction() as tx:
        tx.journal.end([1], EventState.FAILED, Reason.GAVE_UP(count=5))
    wanted = Wanted(person="21", state=EventState.SKIPPED)
    found = event_page(told.store, wanted, size=10, below=None, above=None)
    assert (found.looked, found.matching) == (None, 4)


def test_a_page_says_which_events_it_looked_through(told: Bridge, come_in: ComeIn) -> None:
    visitor = come_in(Right.VIEWER)
    shown = visitor.open("/console/events?person=21")
    assert "1 event matches · only events 7 to 9 were searched" in shown
    assert "/console/events?person=21&amp;below=7" in visitor.page
    shown = visitor.open("/console/events?person=9999")
    assert "Nothing matches" in shown
    assert "Only events 7 to 9 were searched." in shown
    assert "/console/events?person=9999&amp;below=7" in visitor.page
    assert "were searched" not in visitor.open("/console/events?state=skipped")


def test_words_are_searched_in_the_newest_tickets_and_in_all_if_a_person_wants_that(
    told: Bridge, come_in: ComeIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "NEWEST", 4)
    visitor = come_in(Right.VIEWER)
    shown = visitor.open("/console/search?q=on+fire")
    assert "Only the newest 4 tickets were searched." in shown
    assert ("Printer 6 on fire" in shown, "Printer 5 on fire" in shown) == (True, False)
    assert "/console/search?q=on+fire&amp;all=yes" in visitor.page
    shown = visitor.open("/console/search?q=on+fire&all=yes")
    assert "newest" not in shown
    assert "Printer 1 on fire" in shown


@pytest.mark.promise("SEC-92")
class TestHoursThatTakeLong:
    """A slow report of hours is kept until a person asks for a new one."""

    @pytest.fixture
    def made(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The months for which a report was made."""
        made: list[str] = []

        def hours_of(_services: Services, month: str, _seconds: float) -> HoursReport:
            made.append(month)
            return HoursReport(month=month, live=True, why_not_live=None, people=[], differences=[])

        monkeypatch.setattr(kept_hours, "hours_of", hours_of)
        return made

    def test_it_is_shown_again_with_its_time(
        self, made: list[str], come_in: ComeIn, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(kept_hours, "LONG_S", 0.0)
        visitor = come_in(Right.VIEWER)
        assert "Compared" in visitor.open("/console/hours?month=2026-11")
        assert "Compared" in visitor.open("/console/hours?month=2026-11")
        assert made == ["2026-11"]
        assert "/console/hours?month=2026-11&amp;anew=yes" in visitor.page
        visitor.open("/console/hours?month=2026-11&anew=yes")
        visitor.open("/console/hours?month=2026-10")
        assert made == ["2026-11", "2026-11", "2026-10"]

    def test_its_csv_is_what_the_page_shows(
        self, made: list[str], come_in: ComeIn, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(kept_hours, "LONG_S", 0.0)
        visitor = come_in(Right.VIEWER)
        visitor.open("/console/hours?month=2026-11")
        for address in ("hours.csv?month=2026-11", "hours.csv?month=2026-11&tasks=yes"):
            assert visitor.http.get(f"{visitor.base_url}/console/{address}", timeout=30).status_code == 200
        assert made == ["2026-11"]

    def test_one_without_redmine_is_made_anew_if_redmine_may_take_longer(
        self, made: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(kept_hours, "LONG_S", 0.0)
        monkeypatch.setattr(kept_hours, "hours_of", _without_redmine(made))
        kept = KeptHours(None)  # type: ignore[arg-type]
        assert kept.of("2026-11", 20.0).report.live is False
        kept.of("2026-11", 20.0)
        assert made == ["2026-11"]
        kept.of("2026-11", 60.0)
        kept.of("2026-11", 20.0)
        assert made == ["2026-11", "2026-11"]

    def test_forty_five_loads_keep_no_other_page_waiting_and_make_few_reports(
        self, made: list[str], console: Console, come_in: ComeIn, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(kept_hours, "LONG_S", 0.0)
        may_go_on, make = threading.Event(), vars(kept_hours)["hours_of"]

        def slowly(services: Services, month: str, seconds: float) -> HoursReport:
            report: HoursReport = make(services, month, seconds)
            assert may_go_on.wait(90)
            return report

        monkeypatch.setattr(kept_hours, "hours_of", slowly)
        visitor = come_in(Right.VIEWER)
        pages = (
            "/console/hours?month=2026-11",
            "/console/hours?month=2026-10&anew=yes",
            "/console/hours.csv?month=2026-09",
        )

        def load(number: int) -> int:
            if number % 4 == 3:
                return console.ask("GET", "/api/hours?month=2026-08").status_code
            with requests.Session() as session:
                session.cookies.update(visitor.http.cookies)
                return session.get(console.base_url + pages[number % 4], timeout=90).status_code

        with ThreadPoolExecutor(45) as at_once:
            loads = [at_once.submit(load, number) for number in range(45)]
            until(lambda: len(made) == kept_hours.READERS, "reports are made")
            assert "Audit log" in visitor.open("/console/changes")
            assert not any(one.done() for one in loads)
            may_go_on.set()
            assert {one.result(90) for one in loads} == {200}
        assert len(made) <= 8, "one or two for each month"

    def test_one_that_was_quick_is_made_anew(self, made: list[str], come_in: ComeIn) -> None:
        visitor = come_in(Right.VIEWER)
        for _ in range(2):
            assert "Compared" not in visitor.open("/console/hours?month=2026-11")
        assert made == ["2026-11", "2026-11"]

    def test_it_is_kept_for_minutes_only(self, made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(kept_hours, "LONG_S", 0.0)
        monkeypatch.setattr(kept_hours, "KEPT_S", 0.0)
        kept = KeptHours(None)  # type: ignore[arg-type]
        kept.of("2026-11", 1.0)
        kept.of("2026-11", 1.0)
        assert made == ["2026-11", "2026-11"]


def _without_redmine(made: list[str]) -> Callable[[Services, str, float], HoursReport]:
    """Return a function that makes reports without Redmine and records their months."""

    def hours_of(_services: Services, month: str, _seconds: float) -> HoursReport:
        made.append(month)
        return HoursReport(month=month, live=False, why_not_live="too slow", people=[], differences=[])

    return hours_of
