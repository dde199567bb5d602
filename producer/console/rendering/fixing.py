"""The pages that fix problems: each cause and the page that removes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from producer.console.rendering.addresses import address, with_parameters
from producer.console.rendering.setting_pages import TRIAL, setting
from shared.notices.access import AccessRefusal
from shared.notices.doctor_helpdesk import HelpdeskFinding
from shared.notices.doctor_service import ServiceFinding
from shared.notices.doctor_setup import SetupFinding
from shared.notices.doctor_tracker import TrackerFinding
from shared.notices.doctor_work import WorkFinding
from shared.notices.faults import Detail, Fault
from shared.notices.hints import Hint
from shared.notices.kinds import Kind
from shared.notices.language import N_, said
from shared.notices.notice import Notice, within
from shared.notices.reasons import Matching, Reason


@dataclass(frozen=True, slots=True)
class Fix:
    """A page that removes a cause.

    Attributes:
        label: text of the link.
        address: target of the link.
    """

    label: str
    address: str


SETTINGS, LINKS, PEOPLE, TEMPLATES, HELD, EVENTS = (
    f"/console/{name}" for name in ("settings", "links", "people", "templates", "held", "events")
)
RETURNING = (SETTINGS, LINKS, PEOPLE, TEMPLATES)
"""Pages that return the user to the page they came from."""

COMMAND = re.compile(r"\s*(\([^()]*`deskbridge [^`]*`[^()]*\)|[;:,] [^;:,()]*`deskbridge [^`]*`[^;:()]*)")
"""The part of a sentence that names a command."""

Values = Mapping[str, Any]


def _link(values: Values) -> str:
    """Return the mapping's form if the cause or the ticket identifies the mapping, else the list."""
    kind, number = str(values.get("kind", "")), values.get("id")
    if kind not in ("entity", "project") or number is None:
        kind, number = values.get("link") or ("", None)
    return LINKS if number is None else f"{LINKS}/{kind}/{number}"


def _entity(values: Values) -> str:
    return f"{LINKS}/entity/{values['id']}" if "id" in values else LINKS


def _person(values: Values) -> str:
    number = values.get("helpdesk_user_id")
    return f"{PEOPLE}/{number}" if number else PEOPLE


def _template(values: Values) -> str:
    """Return the editor at the line of the error if the cause names the template, else the list."""
    if not isinstance(values.get("id"), int):
        return TEMPLATES
    return address(f"{TEMPLATES}/{values['id']}", line=values.get("line"))


def _decision(values: Values) -> str:
    kind, key = str(values.get("kind", "")), values.get("key")
    return f"{HELD}/{kind}/{key}" if kind in tuple(Kind) and key else HELD


def _ticket(values: Values) -> str:
    return f"/console/tickets/{values['ticket_id']}" if "ticket_id" in values else EVENTS


def _failed_for(values: Values) -> str:
    return address(EVENTS, state="failed", cause=values.get("code"))


ACTIVITY = (N_("Choose another activity"), setting("default_activity_id"))
PRIORITY = (N_("Choose another priority"), setting("default_priority_id"))
LINK = (N_("Change the mapping"), _link)
TEMPLATE = (N_("Change the template"), _template)
PERSON = (N_("Map the user"), _person)
TRACKER = (N_("Check the Redmine settings"), setting("base_url"))
STATUS = (N_("Map the status"), setting("status_map"))
WATCHERS = (N_("Choose other watchers"), setting("default_watcher_ids"))
KEY = (N_("Store the key"), setting("api_key"))
DECIDE = (N_("Decide"), _decision)
NOTIFICATIONS = (N_("Look at the notifications"), f"{SETTINGS}/notifications")
METADATA = (N_("Read the metadata"), setting("metadata"))

PREFIX = (N_("Check the Redmine settings"), setting("header_prefix"))

FIXES: dict[str, tuple[str, str | Callable[[Values], str]]] = {
    Reason.NO_LINK: (N_("Add mapping"), _link),
    Reason.PRIVATE_TASK: (N_("Choose how to handle private tasks"), setting("private_tasks")),
    Reason.STATUS_NOT_MAPPED: STATUS,
    Reason.STATUS_NOT_IN_TEMPLATE: TEMPLATE,
    Reason.WAITS_FOR_PERSON: DECIDE,
    Detail.STATUS_NOT_TAKEN: STATUS,
    Fault.TRACKER_UNREACHABLE: TRACKER,
    Detail.NO_API_THERE: TRACKER,
    Detail.ADDRESS_MOVED: TRACKER,
    Fault.TEMPLATE_FAULTY: TEMPLATE,
    Hint.ACTIVITY_NOT_ENABLED: ACTIVITY,
    Hint.MAYBE_ACTIVITY_NOT_ENABLED: ACTIVITY,
    Hint.NO_DEFAULT_ACTIVITY: ACTIVITY,
    Hint.ACTIVITY_NOT_USABLE_NOW: ACTIVITY,
    Hint.ACTIVITY_SWITCHED_OFF: ACTIVITY,
    Hint.PROJECT_CLOSED: LINK,
    Hint.PROJECT_ARCHIVED: LINK,
    Hint.PROJECT_ABSENT: LINK,
    Hint.TIME_PROJECT_CLOSED: LINK,
    Hint.TIME_PROJECT_ARCHIVED: LINK,
    Hint.TIME_PROJECT_ABSENT: LINK,
    Detail.KEY_IS_UNKNOWN: KEY,
    Detail.KEY_NOT_ADMINISTRATORS: KEY,
    Hint.UNKNOWN_PRIORITY: PRIORITY,
    Hint.NO_DEFAULT_PRIORITY: PRIORITY,
    Hint.UNKNOWN_CATEGORY: LINK,
    Hint.UNKNOWN_ISSUE_TYPE: (N_("Choose another issue type"), setting("default_tracker_id")),
    Hint.UNKNOWN_STATUS: STATUS,
    Hint.UNKNOWN_WATCHERS: WATCHERS,
    Hint.MAYBE_WATCHER_LOCKED: WATCHERS,
    Hint.PROJECT_NOT_ACTIVE: LINK,
    Hint.MAYBE_PROJECT_CLOSED: LINK,
    Hint.TIME_PROJECT_NOT_ACTIVE: LINK,
    Hint.CUSTOM_FIELD_REQUIRED: TEMPLATE,
    Hint.CUSTOM_FIELD_NOT_A_CHOICE: TEMPLATE,
    Hint.MAYBE_COMMENT_REQUIRED: TEMPLATE,
    Hint.NO_USABLE_ROLE: (N_("Choose another role"), setting("default_role_id")),
    Matching.NO_EMAIL: PERSON,
    Matching.EMAIL_UNKNOWN: PERSON,
    Matching.EMAIL_CHANGED: PERSON,
    Matching.EMAIL_TAKEN: PERSON,
    Matching.EMAIL_AMBIGUOUS: PERSON,
    Matching.OVERRIDE_NOT_CACHED: PERSON,
    Matching.NO_ADMINISTRATORS: PERSON,
    AccessRefusal.AUTHORS_NOT_CORRECTED_HERE: (
        N_("Allow it in the settings"),
        setting("correct_authors"),
    ),
    SetupFinding.API_KEY_MISSING: KEY,
    SetupFinding.API_KEY_UNREADABLE: KEY,
    TrackerFinding.KEY_NOT_KNOWN: KEY,
    TrackerFinding.KEY_NOT_ADMINISTRATOR: KEY,
    TrackerFinding.TRACKER_NOT_SET_UP: TRACKER,
    ServiceFinding.TRACKER_NOT_USABLE: TRACKER,
    ServiceFinding.NOTIFICATION_NOT_TAKEN: NOTIFICATIONS,
    TrackerFinding.NOT_A_TRACKER: TRACKER,
    SetupFinding.METADATA_EMPTY: METADATA,
    SetupFinding.METADATA_OLD: METADATA,
    SetupFinding.METADATA_NOT_READ: METADATA,
    TrackerFinding.NOTHING_LINKED: (N_("Add a mapping"), LINKS),
    TrackerFinding.LINKED_PROJECT_CLOSED: LINK,
    TrackerFinding.LINKED_PROJECT_ARCHIVED: LINK,
    TrackerFinding.LINKED_PROJECT_GONE: LINK,
    TrackerFinding.CATEGORY_GONE: LINK,
    TrackerFinding.IMPERSONATION_IGNORED: PREFIX,
    TrackerFinding.IMPERSONATION_UNEXPECTED: PREFIX,
    TrackerFinding.IMPERSONATION_UNKNOWN: PREFIX,
    SetupFinding.CONFIG_ID_UNKNOWN: (N_("Change the settings"), SETTINGS),
    SetupFinding.ROLE_NOT_SET: (N_("Choose a role"), setting("default_role_id")),
    SetupFinding.ACTIVITY_NOT_SET: (N_("Choose an activity"), setting("default_activity_id")),
    TrackerFinding.ACTIVITY_NOT_USABLE: ACTIVITY,
    SetupFinding.STATUSES_NOT_MAPPED: STATUS,
    SetupFinding.STATUS_MAP_WRONG: STATUS,
    SetupFinding.PEOPLE_UNKNOWN: PERSON,
    SetupFinding.PEOPLE_AMBIGUOUS: PERSON,
    SetupFinding.PEOPLE_DELETED: PERSON,
    SetupFinding.PEOPLE_LOCKED: PERSON,
    SetupFinding.MATCHES_NEW: (N_("Confirm them"), PEOPLE),
    SetupFinding.MATCHES_WAIT: PERSON,
    SetupFinding.MEMBERSHIP_BY_EMAIL: (N_("Change who becomes a member"), setting("membership_for")),
    SetupFinding.FORMATTING_NOT_SET: (N_("Choose the text formatting"), setting("text_formatting")),
    WorkFinding.TEMPLATE_NOT_RENDERED: TEMPLATE,
    WorkFinding.TEMPLATE_OUT_OF_DATE: TEMPLATE,
    WorkFinding.CUSTOM_FIELDS_NOT_SENT: TEMPLATE,
    WorkFinding.EVENTS_FAILED_FOR: (N_("See them"), _failed_for),
    WorkFinding.EVENTS_FIXED: (N_("See and replay them"), _failed_for),
    WorkFinding.FIELDS_NOT_TAKEN: (N_("See which fields"), _ticket),
    WorkFinding.HELD_FOR_NOTHING: (N_("See them"), f"{EVENTS}?state=on_hold"),
    WorkFinding.AUTHORS_WRONG: (N_("See them"), "/console/authors"),
    WorkFinding.ROWS_HELD: DECIDE,
    WorkFinding.EVENTS_FAILED: (N_("See them"), f"{EVENTS}?state=failed"),
    WorkFinding.TRIAL_ON: (N_("Switch it off"), TRIAL),
    WorkFinding.EVENTS_PENDING: (N_("See them"), f"{EVENTS}?state=pending"),
    HelpdeskFinding.TICKETS_UNLINKED: (N_("Add mapping"), _entity),
    HelpdeskFinding.LINKED_SINCE: (
        N_("See and replay them"),
        f"{EVENTS}?state=skipped&cause={Reason.NO_LINK}",
    ),
    HelpdeskFinding.MORE_UNLINKED: (N_("See them"), f"{EVENTS}?state=skipped&cause={Reason.NO_LINK}"),
    HelpdeskFinding.NO_TASK_IS_DONE: (N_("Choose the state that means Done"), setting("done_state")),
    HelpdeskFinding.DELIVERIES_UNREADABLE: (N_("See them"), f"{EVENTS}?state=failed&kind=unreadable"),
}


@dataclass(frozen=True, slots=True)
class Fixes:
    """Finds the page that removes a cause.

    Attributes:
        back: page that shows the cause; the page that removes it returns there.
        link: mapping that a ticket's causes refer to, as kind and id.
    """

    back: str = ""
    link: tuple[str, int] | None = None

    def __call__(self, notice: Notice | None) -> Fix | None:
        """Return the fix of the first known cause in a notice, nested ones included, or None."""
        cause = next((one for one in within(notice) if one.code in FIXES), None)
        if cause is None:
            return None
        label, place = FIXES[cause.code]
        to = place if isinstance(place, str) else place({**_params(cause), "link": self.link})
        is_returning = self.back and to.startswith(RETURNING)
        return Fix(said(label), with_parameters(to, back=self.back) if is_returning else to)


def has_fix(notice: Notice) -> bool:
    """Return whether a page removes a cause."""
    return any(one.code in FIXES for one in within(notice))


def without_command(text: str) -> str:
    """Return a sentence without the part that names a command, since a page does the same."""
    return COMMAND.sub("", text)


def _params(notice: Notice) -> dict[str, Any]:
    """Return the parameters of a cause, completed with those of its nested causes."""
    found: dict[str, Any] = {}
    for value in notice.params.values():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            found |= _params(one) if isinstance(one, Notice) else {}
    return {**found, **notice.params}
