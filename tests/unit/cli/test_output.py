"""Times and counts are shown in words, and text from outside cannot control a terminal."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta, timezone

import pytest

from producer.admin.presenters.moments import stamp, when
from producer.cli.output import count, plain
from shared.events.snapshots import HelpdeskUser
from shared.notices.notice import Notice, written
from shared.notices.steps import What
from shared.store.configuration.matching import TrackerPerson
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.store.journal.trace import Step
from shared.store.tables.journal import EventState
from shared.values.visible import INVISIBLE
from tests.support.events import task, task_event, ticket, ticket_event
from tests.unit.cli.conftest import Shell

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "now"),
        (1, "1 second ago"),
        (59.9, "59 seconds ago"),
        (120, "2 minutes ago"),
        (3600, "1 hour ago"),
        (6 * 86400, "6 days ago"),
        (8 * 86400, "2026-11-13 09:30"),
        (-5, "in 5 seconds"),
        (-7200, "in 2 hours"),
    ],
)
def test_times_are_said_as_a_person_would(seconds: float, words: str) -> None:
    assert when(NOW - timedelta(seconds=seconds), NOW) == words


def test_no_time_is_no_words() -> None:
    assert when(None) == ""


def test_json_times_are_utc_with_z() -> None:
    assert stamp(NOW.astimezone(timezone(timedelta(hours=2)))) == "2026-11-21T09:30:00Z"
    with pytest.raises(TypeError):
        stamp(object())


def test_counts_have_their_noun() -> None:
    assert (count(1, "event"), count(2, "event"), count(0, "event")) == ("1 event", "2 events", "0 events")


def test_what_a_terminal_would_obey_is_left_out() -> None:
    assert plain("a\x1b[31mb\x07\x9b\ud800 ü\n") == "a[31mb ü\n"
    assert plain(None) == ""


TURNED = "gro.live//:sptth\u202e paid\u200b\u2066"


def test_what_turns_a_text_round_or_cannot_be_seen_is_marked() -> None:
    assert plain(TURNED) == "gro.live//:sptth<U+202E> paid<U+200B><U+2066>"
    assert plain("\ufeffa\u00adb\u061cc\U000e0041") == "<U+FEFF>a<U+00AD>b<U+061C>c<U+E0041>"


def test_every_character_that_formats_others_is_marked_but_those_that_are_signs_themselves() -> None:
    formats = [chr(number) for number in range(0x110000) if unicodedata.category(chr(number)) == "Cf"]
    shown = {one for one in formats if plain(one) == one}
    assert shown == set(
        "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
    )
    seen = "\u0645\u0631\u062d\u0628\u0627 \u2764\ufe0f \u4f60\u597d"
    assert plain(seen) == seen


@pytest.mark.promise("SEC-43")
@pytest.mark.parametrize(
    "typed",
    [
        ["event", "list"],
        ["event", "list", "--csv"],
        ["audit", "list", "--csv"],
        ["ticket", "history", "4711"],
        ["user", "list"],
        ["hold", "list"],
        ["mapping", "list"],
        ["template", "list"],
        ["template", "show", "1"],
        ["config", "show"],
        ["event", "replay", "99"],
        ["mapping", "add", "entity", "3", "99"],
        ["doctor"],
    ],
    ids=" ".join,
)
def test_no_command_shows_what_somebody_outside_hid(shell: Shell, typed: list[str]) -> None:
    turned = {"id": 7, "email": f"{TURNED}@example.test"}
    [first, _] = shell.receive(
        task_event(of_ticket=ticket(title=TURNED, technician=turned), of_task=task(user=turned)),
        ticket_event(),
    )
    shell.end([first], EventState.FAILED, f"Redmine rejected it: {TURNED}")
    with shell.store.transaction() as tx:
        tx.people.note_seen([HelpdeskUser(id=7, email=f"{TURNED}@example.test")])
        tx.people.replace_cache([TrackerPerson(5, f"alice{TURNED}", TURNED, "a@example.test")])
        tx.metadata.put([Entry(MetadataKind.PROJECT, 1, TURNED)])
        tx.trace.append(
            [
                Step(
                    4711,
                    What.CALL_UNANSWERED(
                        method="GET",
                        path=TURNED,
                        actor=Notice("as_administrator"),
                        ms=5,
                        error=written(TURNED),
                    ),
                    call={"method": "GET", "path": TURNED, "body": TURNED},
                )
            ]
        )
        tx.templates.create("issue.create", TURNED, f'{{"issue": {{"subject": "{TURNED}"}}}}', TURNED)
    result = shell.type(*typed)
    assert not INVISIBLE.search(result.stdout + result.stderr)
    assert "Traceback" not in result.output
