"""A link to a problem leads to its source; after the fix the page returns, and says what will be sent."""

from __future__ import annotations

import pytest

from producer.console.rendering.addresses import way_back
from producer.console.rendering.fixing import Fixes, without_command
from shared.notices.faults import Fault
from shared.notices.reasons import Matching, Reason
from tests.integration.console.conftest import ComeIn
from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket

BACK = "?back=%2Fconsole%2Ftickets%2F4711"


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.test/",
        "//evil.test/",
        "/console//evil.test",
        "/evil",
        "/console.evil.test",
        "/console/\\evil.test",
        "/console/\tx",
        "javascript:alert(1)",
        "",
        None,
    ],
)
def test_only_a_page_of_this_console_is_a_way_back(elsewhere: str | None) -> None:
    assert way_back(elsewhere) is None


def test_a_page_with_a_filter_is_a_way_back() -> None:
    assert way_back("/console/events?place=entity%3A77") == "/console/events?place=entity%3A77"


def test_a_cause_leads_to_the_thing_with_the_way_back() -> None:
    fix = Fixes("/console/tickets/4711", ("entity", 77))
    led = {
        str(one.code): found.address
        for one in (
            Reason.NO_LINK(),
            Matching.NO_EMAIL(helpdesk_user_id=99),
            Reason.WAITS_FOR_PERSON(kind="ticket", key=4711, because=Reason.NO_TIME()),
            Fault.TEMPLATE_FAULTY(line=4, column=2, message="x"),
        )
        if (found := fix(one))
    }
    assert led == {
        "no_link": f"/console/links/entity/77{BACK}",
        "no_email": f"/console/people/99{BACK}",
        "waits_for_person": "/console/held/ticket/4711",
        "template_faulty": f"/console/templates{BACK}",
    }
    status = fix(Reason.STATUS_NOT_MAPPED(status=7))
    assert status
    assert status.address == f"/console/settings/status-map{BACK}#status_map", "before the fragment"


def test_a_sentence_loses_the_command_that_a_page_does() -> None:
    assert (
        without_command("it is not linked (link it with `deskbridge mapping add`, then replay)")
        == "it is not linked"
    )
    assert without_command("nobody: map the GLPI user with `deskbridge user map`") == "nobody"
    assert without_command("it has no time (actiontime is 0)") == "it has no time (actiontime is 0)"


def skipped(bridge: Bridge, *numbers: int) -> None:
    """Forward tickets of an entity without a mapping, so that they are skipped."""
    for number in numbers:
        bridge.forward(
            task_event(of_ticket=ticket(number, entity_id=77), of_task=task(number)), ticket_id=number
        )


def test_an_entity_is_linked_from_its_ticket_and_the_page_returns_with_what_is_sent(
    come_in: ComeIn, bridge: Bridge
) -> None:
    skipped(bridge, 4711, 4712)
    visitor = come_in("administrator")
    story = visitor.open("/console/tickets/4711")
    assert f'href="/console/links/entity/77{BACK}"' in visitor.page
    assert "deskbridge mapping add" not in story.split("What happened")[0]
    visitor.open(f"/console/links/entity/77{BACK}")
    assert f'action="/console/links/entity/77{BACK}"' in visitor.page
    form = {"how": "existing", "tracker_project_id": "1", "replay": "on"}
    to = visitor.do(f"/console/links/entity/77{BACK}", form)
    assert to == "/console/tickets/4711?did=unconfirmed&sent=2&of=entity%3A77"
    assert "2 tickets of this entity are being sent" in visitor.open(to)
    assert 'href="/console/events?place=entity%3A77"' in visitor.page
    visitor.open("/console/links/entity/77")
    to = visitor.do("/console/links/entity/77?back=https://evil.test/", form)
    assert to.startswith("/console/links?kind=entity&did="), "no open redirect"
    assert "sent=" not in to, "nothing waited any more"


def test_a_person_is_named_on_a_page_of_their_own(visitor: Visitor, bridge: Bridge) -> None:
    stranger = {"id": 99, "email": "stranger@example.test"}
    bridge.receive(task_event(of_task=task(513, user=stranger)))
    visitor.sign_in("operator")
    page = visitor.open(f"/console/people/99{BACK}")
    assert "GLPI user 99" in page
    assert visitor.page.count('action="/console/people/') == 1
    to = visitor.do(f"/console/people/99{BACK}", {"act": "map", "tracker_user_id": "5"})
    assert to == "/console/tickets/4711?did=mapped&sent=1&of=person%3A99"
    assert visitor.send(f"/console/people/99{BACK}", {"act": "map"}).status_code == 422
