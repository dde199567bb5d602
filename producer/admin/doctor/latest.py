"""The doctor's last results, which complete the shorter check of the console's first page."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from producer.admin.doctor import examination
from producer.admin.doctor.checks import is_fresher
from producer.admin.doctor.finding import RECORDS, CheckResult, Status
from producer.admin.doctor.installation import Installation
from shared.notices.notice import Notice, from_json, notice_json
from shared.redis import examination as stored

WRONG = (Status.FAILURE, Status.WARNING)


def examined(installation: Installation) -> list[CheckResult]:
    """Check every part, and store the problems for the first page and for monitors.

    Args:
        installation: the installation.
    """
    found = list(examination.examine(installation))
    wrong = [
        {"check": one.check, "status": str(one.status), **notice_json(one.found)}
        for one in found
        if one.status in WRONG
    ]
    if not installation.redis_facts.fault:
        with suppress(RedisError):
            stored.keep(installation.redis, wrong)
    return found


def found_last(redis: Redis) -> list[CheckResult]:
    """Return the problems of the doctor's last run, except those that the first page checks itself.

    Args:
        redis: connection with its own time-outs.
    """
    try:
        rows = stored.kept(redis) or []
    except RedisError:
        return []
    found = [one for one in map(_result, rows) if one]
    return [one for one in found if not is_fresher(one.check, one.found.code)]


def _result(row: dict[str, Any]) -> CheckResult | None:
    """Return a stored result, or None if the doctor did not write it."""
    try:
        found = Notice(str(row["code"]), from_json(row["params"]))
        result = CheckResult(str(row["check"]), Status(row["status"]), found)
    except (KeyError, ValueError):
        return None
    return result if result.check in RECORDS and result.status in WRONG else None
