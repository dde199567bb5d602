"""The query filters of lists. As in Redmine, unknown filters are ignored."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

from deploy.sandbox.tracker import answers, fields
from deploy.sandbox.tracker.answers import RefusedError
from deploy.sandbox.tracker.calls import Call
from deploy.sandbox.tracker.records import ACTIVE, USER_ACTIVE, Issue, TimeEntry

Row = Issue | TimeEntry
Test = Callable[[Any], bool]
_LEADING_DIGITS = re.compile(r"\d+")
_WORDS = re.compile(r'"[^"]+"|\S+')
_SORTABLE = ("id", "created_on", "updated_on", "subject")


def issue_tests(call: Call) -> list[Test]:
    """Return one test per filter of an issue list."""
    tests = [_status(call)]
    for name, value in call.query.items():
        if name == "issue_id":
            tests.append(_ids(value))
        elif (
            name in ("tracker_id", "priority_id")
            or (name == "category_id" and call.query.get("project_id"))
            or name == "parent_id"
        ):
            tests.append(_attribute(name, value))
        elif name == "author_id":
            tests.append(_user(call, value, "author_id"))
        elif name in ("subject", "description"):
            tests.append(_text(name, value))
        elif name in ("created_on", "updated_on"):
            tests.append(_moment(call, name, value))
    return tests + _custom(call, "issue")


def time_entry_tests(call: Call) -> list[Test]:
    """Return one test per filter of a time-entry list, except for `issue_id`."""
    tests: list[Test] = []
    for name, value in call.query.items():
        if name == "user_id":
            tests.append(_user(call, value, "user_id"))
        elif name == "activity_id":
            tests.append(_attribute(name, value))
        elif name == "comments":
            tests.append(_text(name, value))
        elif name in ("spent_on", "from", "to"):
            tests.append(_day(name, value))
    return tests + _custom(call, "time_entry")


def project_tests(call: Call) -> list[Test]:
    """Return one test per filter of a project list; only active projects unless the query has a status."""
    tests = [_one_of(call.query.get("status", str(ACTIVE)), attrgetter("status"))]
    if (ids := call.query.get("id", "")) and not ids.startswith("|"):
        tests.append(_one_of(ids, attrgetter("id")))
    return tests


def user_tests(call: Call) -> list[Test]:
    """Return one test per filter of a user list; only active users unless the query has a status.

    Only newer versions filter by login, mail and administrator; their `status=*` is `status=` on older ones.
    """
    query, filtered = call.query, call.tracker.release.filters_users
    status, everybody = query.get("status", str(USER_ACTIVE)), "*" if filtered else ""
    if filtered and not status:
        raise RefusedError(answers.invalid([call.fault("status", "blank")]))
    tests: list[Test] = [lambda row: status == everybody or row.status == fields.whole(status)]
    name = query.get("name", "").lower()
    if name:
        tests.append(
            lambda row: any(
                name in one.lower() for one in (row.login, row.name, row.mail, *row.further_mails)
            )
        )
    if filtered and query.get("login"):
        tests.append(_text("login", query["login"]))
    if filtered and query.get("mail"):
        tests.append(_mail(query["mail"]))
    if filtered and query.get("admin"):
        tests.append(lambda row: row.admin == (query["admin"] == "1"))
    return tests


def ordered(rows: list[Issue], sort: str) -> list[Issue]:
    """Return issues in the order of a `sort` parameter such as `created_on:desc,id`; else newest id first."""
    keys = [part.partition(":") for part in sort.split(",") if part.partition(":")[0] in _SORTABLE]
    rows = sorted(rows, key=lambda row: row.id, reverse=True)
    for name, _, direction in reversed(keys):
        rows.sort(key=attrgetter(name), reverse=direction == "desc")
    return rows


def _one_of(value: str, read: Callable[[Any], object], separator: str = r"\|") -> Test:
    wanted = {fields.whole(part) for part in re.split(separator, value)}
    return lambda row: read(row) in wanted


def _ids(value: str) -> Test:
    ids = {int(found[0]) for found in map(_LEADING_DIGITS.match, value.split(",")) if found}
    return lambda row: row.id in ids


def _attribute(name: str, value: str) -> Test:
    if value in ("*", "!*"):
        return lambda row: (getattr(row, name) is not None) == (value == "*")
    return _one_of(value, lambda row: getattr(row, name), r"[,|]")


def _user(call: Call, value: str, name: str) -> Test:
    mine = re.sub(r"\bme\b", str(call.user.id), value)
    return _one_of(mine, lambda row: getattr(row, name), r"[,|]")


def _status(call: Call) -> Test:
    wanted = call.query.get("status_id") or "open"
    statuses = call.tracker.statuses
    if wanted == "*":
        return lambda _row: True
    if wanted in ("open", "o", "closed", "c"):
        closed = wanted in ("closed", "c")
        return lambda row: statuses[row.status_id].is_closed == closed
    return _one_of(wanted, lambda row: row.status_id, r"[,|]")


def _text(name: str, value: str) -> Test:
    """Return a test: `~` all words, `^` prefix, `$` suffix (all ignore case), `*` any, `!*` none, else equal."""
    sign, rest = value[:1], value[1:].lower()
    if value in ("*", "!*"):
        return lambda row: bool(getattr(row, name)) == (value == "*")
    if sign == "~":
        words = _words(rest)
        return lambda row: all(word in (getattr(row, name) or "").lower() for word in words)
    if sign == "^":
        return lambda row: (getattr(row, name) or "").lower().startswith(rest)
    if sign == "$":
        return lambda row: (getattr(row, name) or "").lower().endswith(rest)
    return lambda row: getattr(row, name) in value.removeprefix("=").split("|")


def _mail(value: str) -> Test:
    """Return a test of all addresses of a user."""
    test = _text("mail", value)
    return lambda row: any(test(SimpleNamespace(mail=one)) for one in (row.mail, *row.further_mails))


def _words(text: str) -> list[str]:
    """Return the words of a "contains" filter: the first five of two letters or more, else the whole text."""
    return [word.strip('"') for word in _WORDS.findall(text) if len(word) > 1][:5] or [text]


def _custom(call: Call, kind: str) -> list[Test]:
    tests: list[Test] = []
    for name, value in call.query.items():
        row = call.tracker.custom_fields.get(fields.whole(name[3:]) or 0) if name.startswith("cf_") else None
        if row is not None and row.kind == kind and row.is_filter:
            tests.append(_custom_value(str(row.id), value))
    return tests


def _custom_value(key: str, value: str) -> Test:
    if value in ("*", "!*"):
        return lambda row: bool(row.values.get(key)) == (value == "*")
    if value[:1] == "~":
        words = _words(value[1:].lower())
        return lambda row: all(word in (row.values.get(key) or "").lower() for word in words)
    wanted = value.split("|")
    return lambda row: row.values.get(key) in wanted


def _moment(call: Call, name: str, value: str) -> Test:
    """Return a test for `>=`, `<=`, `><A|B` or a day. `>=` a second finds rows created in that second."""
    refused = RefusedError(answers.invalid([call.fault(name.removesuffix("_on"), "invalid")]))
    sign = value[:2] if value[:2] in (">=", "<=", "><") else ""
    parts = value[len(sign) :].split("|")
    spans = [_span(part) for part in parts]
    if any(span is None for span in spans) or (sign == "><" and len(spans) != 2):
        raise refused
    (first, _), (_, last) = spans[0] or (0.0, 0.0), spans[-1] or (0.0, 0.0)
    if sign == ">=":
        return lambda row: bool(getattr(row, name) > first)
    if sign == "<=":
        return lambda row: bool(getattr(row, name) <= last)
    return lambda row: first < getattr(row, name) <= last


def _span(text: str) -> tuple[float, float] | None:
    """Return the exclusive start and inclusive end of a day or second, in seconds since 1970; None if invalid."""
    try:
        if len(text) == 10:
            start = datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC)
            return start.timestamp() - 1e-6, (start + timedelta(days=1)).timestamp() - 1e-6
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return seconds - 1, seconds


def _day(name: str, value: str) -> Test:
    if name == "from" or value[:2] == ">=":
        return lambda row: row.spent_on >= value.removeprefix(">=")
    if name == "to" or value[:2] == "<=":
        return lambda row: row.spent_on <= value.removeprefix("<=")
    if value[:2] == "><":
        first, _, last = value[2:].partition("|")
        return lambda row: first <= row.spent_on <= last
    return lambda row: row.spent_on == value
