"""Document events: which are valid, what is stored and sent of them, and the names of the attachments."""

from __future__ import annotations

import json
import time
from pathlib import PurePath
from typing import Any

import pytest

from shared.errors import InvalidEvent, SettingsError
from shared.events.attachments import (
    ANY_TYPE,
    attachment_body,
    attachment_name,
    shown_documents,
    text_with_pictures,
)
from shared.events.config import PluginConfig
from shared.events.delivery import parse_delivery
from shared.events.filter import why_nothing_is_sent
from shared.events.parsing import parse, parse_event
from shared.events.payloads import note_body
from shared.events.snapshots import (
    LARGEST_DOCUMENT,
    LARGEST_TICKET,
    Document,
    Note,
    document_in,
    document_key,
)
from shared.events.stored import stored
from shared.notices.invalid import Invalid
from shared.notices.kinds import Kind
from shared.notices.reasons import Reason
from shared.values.ids import LARGEST
from tests.support.events import (
    document,
    document_event,
    followup_event,
    ticket,
)
from worker.ticket.plan import Pending, Plan, plan_additions

SENDING = PluginConfig(sync_documents="on")
IMAGE = '<img alt="3bc71f89-82755029.1" src="/front/document.send.php?docid={}&amp;itemtype=Ticket">'


def faults(data: dict[str, Any]) -> list[tuple[str, Any]]:
    with pytest.raises(InvalidEvent) as invalid:
        parse(data)
    return list(invalid.value.faults)


def test_the_key_holds_ticket_and_document_since_a_document_may_hang_on_several_tickets() -> None:
    event = parse_event(document_event(1))
    assert (event.key, event.addition_kind) == ("document:4711000000091", Kind.DOCUMENT)
    assert document_in(event.addition_key) == 91
    assert document_key(LARGEST_TICKET, LARGEST_DOCUMENT) <= LARGEST


def test_an_event_without_its_document_names_that() -> None:
    assert faults({**document_event(1), "document": None}) == [
        ("document", Invalid.PART_REQUIRED(event="document.added"))
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", 0),
        ("id", LARGEST_DOCUMENT + 1),
        ("size", -1),
        ("name", 7),
        ("is_private", "no"),
        ("user", 7),
        ("date", "yesterday"),
    ],
)
def test_a_wrong_field_is_named_by_its_path(name: str, value: object) -> None:
    event = document_event(1, of_document=document() | {name: value})
    assert [path for path, _ in faults(event)] == [f"document.{name}"]


def test_an_unknown_holder_and_too_large_a_ticket_are_refused() -> None:
    of_change = document(item={"type": "Change", "id": 1})
    assert [path for path, _ in faults(document_event(1, of_document=of_change))] == ["document.item.type"]
    assert faults(document_event(1, of_ticket=ticket(LARGEST_TICKET + 1))) == [
        ("ticket.id", Invalid.NUMBER_TOO_LARGE(most=LARGEST_TICKET))
    ]


def test_of_a_document_only_what_describes_it_is_kept() -> None:
    sent = document_event(1, of_document=document(content="aGVsbG8=", size=5))
    delivery = parse_delivery(sent, "d-1")
    kept = json.loads(delivery.payload)["document"]
    assert "content" not in kept
    assert (kept["id"], kept["size"], kept["name"]) == (91, 5, "scan-91.png")
    assert stored(delivery.payload) == delivery.event


def test_of_a_private_document_no_name_is_kept() -> None:
    delivery = parse_delivery(
        document_event(1, of_document=document(name="Notice.pdf", is_private=True)), "d-1"
    )
    assert "Notice" not in delivery.payload


def test_an_event_of_something_else_keeps_a_key_of_that_name() -> None:
    sent = {**document_event(1), "event": "ticket.updated", "document": "anything"}
    assert json.loads(parse_delivery(sent, "d-1").payload)["document"] == "anything"


@pytest.mark.parametrize(
    ("settings", "changes", "reason"),
    [
        ({"sync_documents": "off"}, {}, Reason.DOCUMENTS_OFF()),
        ({}, {}, None),
        ({}, {"is_private": True}, Reason.PRIVATE_DOCUMENT()),
        ({"document_max_mb": 1}, {"size": 1024 * 1024}, None),
        ({"document_max_mb": 1}, {"size": 1024 * 1024 + 1}, Reason.DOCUMENT_TOO_LARGE(most=1)),
        ({"document_refused_types": [".PNG"]}, {}, Reason.DOCUMENT_TYPE_REFUSED(type=".png")),
        ({"document_refused_types": ["image/*"]}, {}, Reason.DOCUMENT_TYPE_REFUSED(type="image/*")),
        ({"document_refused_types": ["image/png"]}, {}, Reason.DOCUMENT_TYPE_REFUSED(type="image/png")),
        ({"document_refused_types": ["image/jpeg", ".exe"]}, {"name": None, "mime_type": None}, None),
    ],
)
def test_the_settings_say_which_documents_are_sent(
    settings: dict[str, Any], changes: dict[str, Any], reason: object
) -> None:
    config = PluginConfig.model_validate({"sync_documents": "on", **settings})
    event = parse_event(document_event(1, of_document=document(**changes)))
    assert why_nothing_is_sent(event, config) == reason


@pytest.mark.promise("SEC-89")
@pytest.mark.parametrize(
    "changes",
    [
        {"name": "setup.exe "},
        {"name": "setup.ex\u202ee"},
        {"name": "C:\\setup.exe"},
        {"name": "page", "mime_type": "text/html"},
        {"name": None, "mime_type": "text/html"},
        {"name": "setup.exe."},
        {"name": "setup.exe\u200b"},
        {"name": "setup.exe. \u2060.\u200d"},
        {"name": "setup.ex\ufeffe"},
    ],
)
def test_a_refused_type_is_known_by_the_name_that_the_attachment_would_have(changes: dict[str, Any]) -> None:
    config = PluginConfig.model_validate(
        {"sync_documents": "on", "document_refused_types": [".exe", ".html"]}
    )
    event = parse_event(document_event(1, of_document=document(**changes)))
    ending = PurePath(attachment_name(event.document)).suffix if event.document else ""
    assert ending in config.document_refused_types
    assert why_nothing_is_sent(event, config) == Reason.DOCUMENT_TYPE_REFUSED(type=ending)


@pytest.mark.promise("SEC-89")
@pytest.mark.parametrize(
    "name", ["x.exe\u200e", "x.e\u3164xe", "x.exe\x80", "x.exe\ufe0f.", "x.ｅｘｅ", "x.exe\U000e0041"]
)
def test_a_refused_extension_is_known_beneath_characters_that_look_like_it_or_like_nothing(name: str) -> None:
    config = PluginConfig.model_validate({"sync_documents": "on", "document_refused_types": [".exe"]})
    event = parse_event(document_event(1, of_document=document(name=name)))
    assert why_nothing_is_sent(event, config) == Reason.DOCUMENT_TYPE_REFUSED(type=".exe")


@pytest.mark.promise("SEC-89")
@pytest.mark.parametrize(
    "changes",
    [
        {"name": "page", "mime_type": "text/html; charset=utf-8"},
        {"name": "page", "mime_type": " TEXT/HTML"},
        {"name": "page.html", "mime_type": None},
        {"name": "page.html", "mime_type": "application/pdf"},
    ],
)
def test_a_refused_mime_type_is_known_however_it_is_written_and_by_the_name(changes: dict[str, Any]) -> None:
    config = PluginConfig.model_validate({"sync_documents": "on", "document_refused_types": ["text/html"]})
    event = parse_event(document_event(1, of_document=document(**changes)))
    assert why_nothing_is_sent(event, config) == Reason.DOCUMENT_TYPE_REFUSED(type="text/html")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("image/png", "image/png"),
        (" Text/HTML;charset=utf-8", "text/html"),
        ("application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text"),
        ("image/svg+xml", "image/svg+xml"),
        ("text", None),
        ("", None),
        ("text/html\r\nX-Header: x", None),
        ("text/html, text/plain", None),
        ("<b>/x", None),
        ("a/" + "b" * 98, "a/" + "b" * 98),
        ("a/" + "b" * 99, None),
    ],
)
def test_a_mime_type_is_kept_only_as_type_and_subtype(given: str, kept: str | None) -> None:
    event = parse_event(document_event(1, of_document=document(mime_type=given)))
    assert event.document is not None
    assert event.document.mime_type == kept


@pytest.mark.parametrize("types", ['["png"]', '["image"]', '["a/b/c"]', '"png"', "[7]", '["*/*"]'])
def test_only_endings_and_mime_types_can_be_refused(types: str) -> None:
    with pytest.raises(SettingsError):
        PluginConfig().changed({"document_refused_types": types})


@pytest.mark.parametrize("size", ["0", "26", "ten"])
def test_the_limit_is_between_1_and_25_mb(size: str) -> None:
    with pytest.raises(SettingsError):
        PluginConfig().changed({"document_max_mb": size})


def test_one_attachment_is_planned_for_a_document_that_hangs_on_two_things_of_a_ticket() -> None:
    on_task = document(item={"type": "TicketTask", "id": 5})
    events = [
        Pending(1, parse_event(document_event(1))),
        Pending(2, parse_event(document_event(2, of_document=on_task))),
    ]
    plan = Plan()
    plan_additions(plan, events, {}, SENDING)
    assert (plan.additions, plan.superseded) == ([events[0]], {2: 1})
    plan = Plan()
    plan_additions(plan, events, {events[0].row_id: 12}, SENDING)
    assert plan.added == {1: 12, 2: 12}


def test_a_document_that_a_private_follow_up_shows_too_is_attached() -> None:
    """The public event decides, whether it arrives before or after the private one."""
    on_followup = document(is_private=True, item={"type": "ITILFollowup", "id": 5})
    for public, private in ((1, 2), (2, 1)):
        events = {
            public: Pending(public, parse_event(document_event(public))),
            private: Pending(private, parse_event(document_event(private, of_document=on_followup))),
        }
        plan = Plan()
        plan_additions(plan, [events[1], events[2]], {}, SENDING)
        assert (plan.additions, plan.superseded) == ([events[public]], {})
        assert plan.skipped == {private: Reason.PRIVATE_DOCUMENT()}


def test_of_two_events_of_a_note_the_newest_counts() -> None:
    events = [Pending(number, parse_event(followup_event(number))) for number in (1, 2)]
    plan = Plan()
    plan_additions(plan, events, {}, PluginConfig(sync_followups="all"))
    assert (plan.additions, plan.superseded) == ([events[1]], {1: 2})


@pytest.mark.parametrize(
    ("name", "mime", "called"),
    [
        ("scan.png", "image/png", "scan-91.png"),
        ("a?b*c:d|e.png", None, "a_b_c_d_e-91.png"),
        ("C:\\temp\\../x.png", None, "x-91.png"),
        (" two\nlines\u202e.png ", None, "two_lines-91.png"),
        ("image001.png", None, "image001-91.png"),
        ("scan-91.png", None, "scan-91.png"),
        ("y" * 300 + ".png", None, "y" * 193 + "-91.png"),
        ("terms.pdf", None, "terms.pdf"),
        ("image_paste123456.png", "image/png", "image_paste123456-91.png"),
        ("Image.JPG", None, "Image-91.JPG"),
        (None, "image/png", "document-91.png"),
        ("", None, "document-91"),
        ("..", None, "..-91"),
        ("report.pdf.", "text/html", "report.pdf"),
        ("rep\u200bort.pdf\u200b", None, "report.pdf"),
        ("scan.png\u2060 .", None, "scan-91.png"),
        ("family \U0001f468\u200d\U0001f469.pdf", None, "family \U0001f468\u200d\U0001f469.pdf"),
        ("x" * 300 + ".pdf", None, "x" * 196 + ".pdf"),
    ],
)
def test_a_document_has_a_file_name_that_follows_from_it_alone(
    name: str | None, mime: str | None, called: str
) -> None:
    assert attachment_name(Document(id=91, name=name, mime_type=mime)) == called


def test_pictures_of_one_name_are_told_apart_whatever_the_case_of_their_names() -> None:
    """The tracker ignores case in names and shows the newest of several files with the same name."""
    names = {attachment_name(Document(id=one, name="Capture.PNG")).lower() for one in (91, 92)}
    assert len(names) == 2


def test_the_body_names_the_file_and_its_type() -> None:
    assert attachment_body(Document(id=91, name="x.bin"), 5) == {
        "issue": {"uploads": [{"filename": "x.bin", "content_type": "application/octet-stream"}]},
        "document": {"id": 91, "size": 5},
    }


@pytest.mark.promise("SEC-82")
@pytest.mark.parametrize(
    ("name", "mime", "sent"),
    [
        ("report.pdf", "text/html", "application/pdf"),
        ("report.html.pdf", None, "application/pdf"),
        ("report.PDF\u200b.", "image/svg+xml", "application/pdf"),
        ("scan.jpeg", "text/html", "image/jpeg"),
        ("notes.txt", "text/html", "text/plain"),
        ("page.html", "text/html", ANY_TYPE),
        ("page.pdf.xhtml", "application/pdf", ANY_TYPE),
        ("logo.svg", "image/svg+xml", ANY_TYPE),
        ("feed.xml", "application/xml", ANY_TYPE),
        ("code.js", "text/javascript", ANY_TYPE),
        ("page", "text/html", ANY_TYPE),
        (None, "text/html", ANY_TYPE),
        ("scan", "image/png", "image/png"),
        ("x.unknown", "text/html; charset=utf-8", ANY_TYPE),
        ("x", None, ANY_TYPE),
    ],
)
def test_a_content_type_follows_from_the_file_name_and_is_never_one_that_a_browser_runs(
    name: str | None, mime: str | None, sent: str
) -> None:
    (upload,) = attachment_body(Document(id=91, name=name, mime_type=mime), 5)["issue"]["uploads"]
    assert upload["content_type"] == sent


def test_the_documents_that_a_text_shows_are_found() -> None:
    text = f"<p>{IMAGE.format(7)}</p><a href='/front/document.send.php?docid=8'>file</a>{IMAGE.format(9)}"
    assert shown_documents(text, None) == {7, 9}, "a link to a file shows none"
    assert (
        shown_documents(None, None) == shown_documents("<img src='https://x/y.png?docid=3'>", None) == set()
    )


BASE = "https://helpdesk.example/glpi"


@pytest.mark.parametrize(
    "source",
    [
        "/front/document.send.php?docid=7",
        "/glpi/front/document.send.php?docid=7&amp;itemtype=Ticket",
        "front/document.send.php?itemtype=Ticket&docid=7",
        " ../document.send.php?docid=7 ",
        "https://helpdesk.example/glpi/front/document.send.php?docid=7",
        "http://HELPDESK.example/glpi/front/document.send.php?docid=7",
        "//helpdesk.example/glpi/front/document.send.php?docid=7",
    ],
)
def test_a_picture_of_the_help_desk_is_one_of_its_documents(source: str) -> None:
    assert shown_documents(f'<img src="{source}">', BASE) == {7}


@pytest.mark.parametrize(
    "source",
    [
        "https://other.example/front/document.send.php?docid=7",
        "//other.example/glpi/front/document.send.php?docid=7",
        "\\\\other.example\\glpi\\front/document.send.php?docid=7",
        "https://helpdesk.example.other.example/glpi/front/document.send.php?docid=7",
        "https://helpdesk.example:8443/glpi/front/document.send.php?docid=7",
        "https://helpdesk.example@other.example/glpi/front/document.send.php?docid=7",
        "https://helpdesk.example/other/front/document.send.php?docid=7",
        "https://helpdesk.example/glpi2/front/document.send.php?docid=7",
        "/picture.php?of=/front/document.send.php?docid=7",
        "cid:front/document.send.php?docid=7",
        "https://[/front/document.send.php?docid=7",
    ],
)
def test_a_picture_of_another_host_or_application_is_none_of_the_help_desk_s_documents(source: str) -> None:
    text = f'<p>See</p><img src="{source}">'
    assert shown_documents(text, BASE) == set()
    assert "a.png" not in text_with_pictures(text, "html", BASE, "textile", {7: "a.png"})


def test_without_the_help_desk_s_address_only_relative_addresses_are_of_its_documents() -> None:
    assert shown_documents(f"{IMAGE.format(7)}<img src='{BASE}/front/document.send.php?docid=8'>", None) == {
        7
    }


def test_a_link_to_a_file_of_another_host_stays_beside_the_picture() -> None:
    other = "https://other.example/front/document.send.php?docid=7"
    shown = text_with_pictures(
        f"<a href='{other}'>{IMAGE.format(7)}</a>", "html", BASE, "textile", {7: "a.png"}
    )
    assert "!a.png!" in shown
    assert other in shown


@pytest.mark.parametrize(
    ("formatting", "shown"),
    [
        ("textile", "See\n\n!scan%20one.png!\n\nthere"),
        ("markdown", "See\n\n![](scan%20one.png)\n\nthere"),
        ("common_mark", "See\n\n![](scan%20one.png)\n\nthere"),
        (
            "plain",
            "See\n\n[image: https://glpi.test/front/document.send.php?docid=7&itemtype=Ticket]\n\nthere",
        ),
    ],
)
def test_a_picture_is_shown_where_it_stands(formatting: Any, shown: str) -> None:
    text = f"<p>See</p><p><a href='/front/document.send.php?docid=7'>{IMAGE.format(7)}</a></p><p>there</p>"
    names = {7: "scan one.png"}
    assert text_with_pictures(text, "html", "https://glpi.test", formatting, names) == shown


def test_a_picture_does_not_keep_the_text_around_it_from_being_shown_as_written() -> None:
    text = f"<p># no heading</p>{IMAGE.format(7)}<p>*no* emphasis</p>"
    shown = text_with_pictures(text, "html", None, "markdown", {7: "a.png"})
    assert shown == "\\# no heading\n\n![](a.png)\n\n\\*no\\* emphasis"


@pytest.mark.parametrize("formatting", ["textile", "markdown", "common_mark"])
@pytest.mark.parametrize("blank", [" ", "&nbsp;"])
def test_a_picture_within_a_line_does_not_turn_the_text_beside_it_into_code(
    formatting: Any, blank: str
) -> None:
    text = f"<p>See here:{blank}{IMAGE.format(7)}{blank}and there</p>"
    before, _, after = text_with_pictures(text, "html", None, formatting, {7: "a.png"}).split("\n\n")
    assert (before, after) == ("See here:", "and there")


def test_code_after_a_picture_keeps_its_indentation() -> None:
    text = f"{IMAGE.format(7)}<pre>  if x:\n    y()</pre>"
    shown = text_with_pictures(text, "html", None, "common_mark", {7: "a.png"})
    assert shown == "![](a.png)\n\n~~~\n  if x:\n    y()\n~~~"


@pytest.mark.parametrize("names", [{}, {8: "a.png"}, {7: "a.pdf"}])
def test_other_pictures_are_shown_by_their_address(names: dict[int, str]) -> None:
    text = text_with_pictures(IMAGE.format(7), "html", "https://glpi.test", "textile", names)
    assert "document.send.php?docid=7" in text


def test_a_picture_within_a_longer_link_leaves_the_link() -> None:
    text = f"<p><a href='https://x.test/y'>{IMAGE.format(7)} more</a></p>"
    assert text_with_pictures(text, "html", None, "textile", {7: "a.png"}).startswith("!a.png!\n\n")


@pytest.mark.parametrize(
    "hostile",
    [
        "<a " + "document.send.php?" * 60_000,
        "<img src='" + "document.send.php?docid=" * 40_000,
        "<img " + "src='document.send.php?docid=x' " * 30_000,
        "<a>" * 300_000,
        "<img>" * 200_000,
    ],
)
def test_a_text_that_is_made_to_take_long_takes_no_longer(hostile: str) -> None:
    began = time.process_time()
    assert shown_documents(hostile, None) == set()
    assert time.process_time() - began < 5


def test_a_text_that_holds_our_own_mark_shows_no_picture_for_it() -> None:
    assert (
        text_with_pictures("<p>\ue0007\ue001</p>", "html", None, "textile", {7: "a.png"}) == "\ue0007\ue001"
    )


def test_pictures_are_shown_only_while_documents_are_on() -> None:
    note = Note(id=1, content=IMAGE.format(7), content_format="html")
    names = {7: "a.png"}
    on = PluginConfig(sync_documents="on", text_formatting="textile")
    assert note_body(note, on, names)["issue"]["notes"] == "!a.png!"
    off = PluginConfig(text_formatting="textile")
    assert "!" not in note_body(note, off, names)["issue"]["notes"]


@pytest.mark.parametrize("begin", ["", "\ue0005\ue001:\n\n"])
def test_what_looks_like_our_mark_of_a_picture_only_once_it_is_text_stays_as_it_is(begin: str) -> None:
    rich = f"<p>&#xE000;5&#xE001;</p>{IMAGE.format(7)}"
    found = text_with_pictures(rich, "html", None, "textile", {7: "a.png"}, begin)
    assert found == f"{begin}\ue0005\ue001\n\n!a.png!"
