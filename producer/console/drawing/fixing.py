"""Where the pages fix what is wrong: each cause and the page that removes it."""

from __future__ import annotations

from dataclasses import dataclass

from shared.notices.doctor_helpdesk import HelpdeskFinding
from shared.notices.doctor_service import ServiceFinding
from shared.notices.doctor_setup import SetupFinding
from shared.notices.doctor_tracker import TrackerFinding
from shared.notices.doctor_work import WorkFinding
from shared.notices.faults import Detail, Fault
from shared.notices.hints import Hint
from shared.notices.language import N_, said
from shared.notices.notice import Notice
from shared.notices.reasons import Matching, Reason


@dataclass(frozen=True, slots=True)
class Fix:
    """A page that removes a cause.

    Attributes:
        label: what the link says.
        address: where it leads.
    """

    label: str
    address: str


SETTINGS, LINKS, PEOPLE, TEMPLATES, HELD, EVENTS = (
    f"/console/{name}" for name in ("settings", "links", "people", "templates", "held", "events")
)
ACTIVITY = (N_("Choose another activity"), f"{SETTINGS}#default_activity_id")
PRIORITY = (N_("Choose another priority"), f"{SETTINGS}#default_priority_id")
LINK = (N_("Change the link"), LINKS)
TEMPLATE = (N_("Change the template"), TEMPLATES)
PERSON = (N_("Say who they are"), PEOPLE)
TRACKER = (N_("Look at the tracker's settings"), f"{SETTINGS}#base_url")
STATUS = (N_("Map the status"), f"{SETTINGS}#status_map")
WATCHERS = (N_("Choose other watchers"), f"{SETTINGS}#default_watcher_ids")
KEY = (N_("Store the key"), f"{SETTINGS}#api_key")
DECIDE = (N_("Decide"), HELD)
METADATA = (N_("Read the metadata"), f"{SETTINGS}#metadata")

FIXES: dict[str, tuple[str, str]] = {
    Reason.NO_LINK: (N_("Link it"), LINKS),
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
    Hint.UNKNOWN_ISSUE_TYPE: (N_("Choose another issue type"), f"{SETTINGS}#default_tracker_id"),
    Hint.UNKNOWN_STATUS: STATUS,
    Hint.UNKNOWN_WATCHERS: WATCHERS,
    Hint.MAYBE_WATCHER_LOCKED: WATCHERS,
    Hint.PROJECT_NOT_ACTIVE: LINK,
    Hint.MAYBE_PROJECT_CLOSED: LINK,
    Hint.TIME_PROJECT_NOT_ACTIVE: LINK,
    Hint.CUSTOM_FIELD_REQUIRED: TEMPLATE,
    Hint.CUSTOM_FIELD_NOT_A_CHOICE: TEMPLATE,
    Hint.MAYBE_COMMENT_REQUIRED: TEMPLATE,
    Hint.NO_USABLE_ROLE: (N_("Choose another role"), f"{SETTINGS}#default_role_id"),
    Matching.NO_EMAIL: PERSON,
    Matching.EMAIL_UNKNOWN: PERSON,
    Matching.EMAIL_CHANGED: PERSON,
    Matching.EMAIL_TAKEN: PERSON,
    Matching.EMAIL_AMBIGUOUS: PERSON,
    Matching.OVERRIDE_NOT_CACHED: PERSON,
    Matching.NO_ADMINISTRATORS: PERSON,
    SetupFinding.API_KEY_MISSING: KEY,
    SetupFinding.API_KEY_UNREADABLE: KEY,
    TrackerFinding.KEY_NOT_KNOWN: KEY,
    TrackerFinding.KEY_NOT_ADMINISTRATOR: KEY,
    TrackerFinding.TRACKER_NOT_SET_UP: TRACKER,
    ServiceFinding.TRACKER_NOT_USABLE: TRACKER,
    TrackerFinding.NOT_A_TRACKER: TRACKER,
    SetupFinding.METADATA_EMPTY: METADATA,
    SetupFinding.METADATA_OLD: METADATA,
    SetupFinding.METADATA_NOT_READ: METADATA,
    TrackerFinding.NOTHING_LINKED: (N_("Link something"), LINKS),
    TrackerFinding.LINKED_PROJECT_CLOSED: LINK,
    TrackerFinding.LINKED_PROJECT_ARCHIVED: LINK,
    TrackerFinding.LINKED_PROJECT_GONE: LINK,
    SetupFinding.CONFIG_ID_UNKNOWN: (N_("Change the settings"), SETTINGS),
    SetupFinding.ROLE_NOT_SET: (N_("Choose a role"), f"{SETTINGS}#default_role_id"),
    SetupFinding.ACTIVITY_NOT_SET: (N_("Choose an activity"), f"{SETTINGS}#default_activity_id"),
    TrackerFinding.ACTIVITY_NOT_USABLE: ACTIVITY,
    SetupFinding.STATUSES_NOT_MAPPED: STATUS,
    SetupFinding.STATUS_MAP_WRONG: STATUS,
    SetupFinding.PEOPLE_UNKNOWN: PERSON,
    SetupFinding.PEOPLE_AMBIGUOUS: PERSON,
    SetupFinding.PEOPLE_DELETED: PERSON,
    SetupFinding.MATCHES_NEW: (N_("Confirm them"), PEOPLE),
    SetupFinding.MATCHES_WAIT: PERSON,
    SetupFinding.MEMBERSHIP_BY_EMAIL: (N_("Change who is made a member"), f"{SETTINGS}#membership_for"),
    SetupFinding.FORMATTING_NOT_SET: (N_("Choose the text formatting"), f"{SETTINGS}#text_formatting"),
    WorkFinding.TEMPLATE_NOT_RENDERED: TEMPLATE,
    WorkFinding.CUSTOM_FIELDS_NOT_SENT: TEMPLATE,
    WorkFinding.AUTHORS_WRONG: (N_("See them"), "/console/authors"),
    WorkFinding.ROWS_HELD: DECIDE,
    WorkFinding.EVENTS_FAILED: (N_("See them"), f"{EVENTS}?state=failed"),
    WorkFinding.EVENTS_PENDING: (N_("See them"), f"{EVENTS}?state=pending"),
    HelpdeskFinding.DELIVERIES_UNREADABLE: (N_("See them"), f"{EVENTS}?state=failed&kind=unreadable"),
}
HINTS = frozenset(Hint)


def fix(notice: Notice | None) -> Fix | None:
    """Return where a cause is removed, looking into what the cause itself was caused by."""
    if notice is None:
        return None
    if notice.code in FIXES:
        label, address = FIXES[notice.code]
        return Fix(said(label), address)
    for value in notice.params.values():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            found = fix(one) if isinstance(one, Notice) else None
            if found:
                return found
    return None
