"""Converts the tracker's rows to entries of the cache: pure, and strict about required fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shared.errors import OutcomeUnknown
from shared.notices.faults import Detail
from shared.store.configuration.matching import TrackerPerson
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.telemetry.logs import get_logger
from shared.tracker.answers import clean
from shared.tracker.client import is_header
from shared.values.ids import id_in, is_id

log = get_logger("metadata")

LONGEST_NAME = 1000
ACTIVE = 1
FIELD_KINDS = ("project", "issue", "time_entry")
"""The kinds of custom fields that are stored (SPEC 4.2; 1.x stored only those of projects)."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of the tracker that is not paged (SPEC 4.2).

    Attributes:
        kind: the kind of its entries.
        path: its path.
        name: its name in the answer.
        entry: converts a row to an entry; returns None for a row that is not stored.
    """

    kind: MetadataKind
    path: str
    name: str
    entry: Callable[[Row, str], Entry | None]


def person(row: Row, path: str) -> TrackerPerson | None:
    """Return an active tracker user, or None if the login does not fit into a header for impersonation.

    Raises:
        OutcomeUnknown: if the row has no id or login.
    """
    login, mail = row.get("login"), row.get("mail")
    if not is_id(row.get("id")) or not isinstance(login, str) or not clean(login):
        raise OutcomeUnknown("GET", path, detail=Detail.USER_WITHOUT_ID())
    if not is_header(login):  # not cleaned either: the result may be someone else's login
        log.warning(
            "a tracker user with an unusable login is left out", tracker_user_id=row["id"], login=login
        )
        return None
    name = " ".join(part for part in (row.get("firstname"), row.get("lastname")) if isinstance(part, str))
    mail = clean(mail, "\ufffd") or None if isinstance(mail, str) else None  # never cut to someone else's
    return TrackerPerson(row["id"], login, clean(name).strip(), mail, admin=row.get("admin") is True)


def project(row: Row, path: str) -> Entry | None:
    """Return an active project, or None for a closed or archived one, in which nothing can be created (SPEC 7)."""
    if row.get("status", ACTIVE) != ACTIVE:
        return None
    identifier, activities = row.get("identifier"), row.get("time_entry_activities")
    details: dict[str, Any] = {
        "identifier": clean(identifier) if isinstance(identifier, str) else None,
        "parent_id": id_in(row.get("parent")),
        "is_public": row.get("is_public") is True,
    }
    if isinstance(activities, list):
        details["activity_ids"] = sorted(one for one in map(id_in, activities) if one is not None)
    return _entry(MetadataKind.PROJECT, row, path, details)


def category(row: Row, path: str, tracker_project_id: int) -> Entry:
    """Return an issue category of a project, with its default assignee."""
    assignee = row.get("assigned_to")
    details = (
        {"assigned_to_id": id_in(assignee), "assigned_to": clean(str(assignee.get("name") or ""))}
        if isinstance(assignee, dict)
        else {}
    )
    return _entry(MetadataKind.CATEGORY, row, path, details, tracker_project_id)


def _issue_type(row: Row, path: str) -> Entry:
    return _entry(MetadataKind.ISSUE_TYPE, row, path, {})


def _status(row: Row, path: str) -> Entry:
    return _entry(MetadataKind.STATUS, row, path, {"is_closed": row.get("is_closed") is True})


def _role(row: Row, path: str) -> Entry:
    return _entry(MetadataKind.ROLE, row, path, {})


def _enumeration(kind: MetadataKind) -> Callable[[Row, str], Entry]:
    def entry(row: Row, path: str) -> Entry:
        details = {"active": row.get("active") is not False, "is_default": row.get("is_default") is True}
        return _entry(kind, row, path, details)

    return entry


def _custom_field(row: Row, path: str) -> Entry | None:
    if row.get("customized_type") not in FIELD_KINDS:
        return None
    default, field_format = row.get("default_value"), row.get("field_format")
    details = {
        "customized_type": row["customized_type"],
        "field_format": clean(field_format) if isinstance(field_format, str) else "string",
        "is_required": row.get("is_required") is True,
        "multiple": row.get("multiple") is True,
        "default_value": clean(str(default)) if default not in (None, "") else None,
        "possible_values": _possible_values(row.get("possible_values")),
        "tracker_ids": [one for one in map(id_in, _list(row.get("trackers"))) if one is not None],
    }
    return _entry(MetadataKind.CUSTOM_FIELD, row, path, details)


def _possible_values(values: Any) -> list[dict[str, str]]:
    """Return value and label of each choice; some trackers return only the value."""
    found = []
    for one in _list(values):
        value = one.get("value") if isinstance(one, dict) else one
        if isinstance(value, (str, int)):
            label = one.get("label") if isinstance(one, dict) else None
            found.append({"value": clean(str(value)), "label": clean(str(label or value))})
    return found


def _entry(
    kind: MetadataKind, row: Row, path: str, details: Mapping[str, Any], tracker_project_id: int | None = None
) -> Entry:
    name = row.get("name")
    if not is_id(row.get("id")) or not isinstance(name, str):
        raise OutcomeUnknown("GET", path, detail=Detail.ROW_WITHOUT_ID())
    return Entry(kind, row["id"], clean(name)[:LONGEST_NAME], details, tracker_project_id)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


LISTINGS = (
    Listing(MetadataKind.ISSUE_TYPE, "/trackers.json", "trackers", _issue_type),
    Listing(MetadataKind.STATUS, "/issue_statuses.json", "issue_statuses", _status),
    Listing(
        MetadataKind.PRIORITY,
        "/enumerations/issue_priorities.json",
        "issue_priorities",
        _enumeration(MetadataKind.PRIORITY),
    ),
    Listing(
        MetadataKind.ACTIVITY,
        "/enumerations/time_entry_activities.json",
        "time_entry_activities",
        _enumeration(MetadataKind.ACTIVITY),
    ),
    Listing(MetadataKind.ROLE, "/roles.json", "roles", _role),
    Listing(MetadataKind.CUSTOM_FIELD, "/custom_fields.json", "custom_fields", _custom_field),
)
"""Every list of SPEC 4.2 that is not paged."""
