"""A file for support: the state of the installation without secrets, names and texts.

Nothing is masked by pattern. Each part contains only what is listed here: numbers, booleans, times, codes that
deskbridge knows, and fixed words of its own.
"""

from __future__ import annotations

import json
import os
import platform
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import BaseModel
from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from producer.admin.doctor.finding import CheckResult
from producer.admin.presenters.moments import stamp
from producer.admin.services import Services
from shared.events.config import PluginConfig
from shared.events.event import DELETIONS, EVENTS
from shared.monitoring.state_metrics import StateMetricsCollector
from shared.notices.notice import CODES, Notice
from shared.process.settings import Settings
from shared.store.tables.journal import EventState, TraceStep
from shared.store.tables.schema import HEAD, revision_of
from shared.telemetry import metrics

STEPS = 500
PACKAGES = (
    "deskbridge", "aiohttp", "alembic", "celery", "fastapi", "kombu", "psycopg2-binary", "pydantic", "redis",
    "sqlalchemy", "uvicorn",
)  # fmt: skip
KINDS = (*EVENTS, *DELETIONS, "unreadable")
METHODS = ("GET", "POST", "PUT", "DELETE")
SET, OTHER = "set", "other"
WORDS_OF_PATHS = frozenset({
    "categories", "current", "custom_fields", "enumerations", "issue_categories", "issue_priorities",
    "issue_statuses", "issues", "memberships", "projects", "roles", "search", "time_entries",
    "time_entry_activities", "trackers", "users",
})  # fmt: skip
"""Words of Redmine's API; anything else in a path may identify someone."""

LABELS = frozenset({"code", "kind", "process", "python", "service", "state", "status", "version", "why"})
"""Labels of metrics whose values are deskbridge's own words."""

WORD = re.compile(r"[a-z0-9_.+-]{1,40}", re.IGNORECASE)
README = """A support file of deskbridge. It holds no secrets, names, addresses, titles or other texts.

versions.json   versions of deskbridge, Python, its packages, the database and Redis
settings.json   environment settings and Redmine settings: numbers, choices, and whether something is set
doctor.json     what `deskbridge doctor` found, as codes
counts.json     events and creations by state and code
steps.json      the newest steps of tickets' histories, as codes
metrics.txt     what /metrics shows, without labels that could hold a name

The page "Codes" of the documentation says what a code means.
"""


def write_bundle(services: Services, findings: Iterable[CheckResult], file: Path) -> None:
    """Write a support file that only its owner may read.

    Args:
        services: the collaborators.
        findings: the doctor's results.
        file: the file to write; it must not exist.

    Raises:
        OSError: if it exists, or cannot be written.
    """
    parts: Mapping[str, Callable[[], Any]] = {
        "versions.json": lambda: _versions(services),
        "settings.json": lambda: _settings(services),
        "doctor.json": lambda: [_finding(one) for one in findings],
        "counts.json": lambda: _counts(services),
        "steps.json": lambda: _steps(services),
    }
    opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(opened, "wb") as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README.txt", README)
        for name, made in parts.items():
            archive.writestr(name, json.dumps(_known(made), indent=2, default=stamp))
        shown = _known(lambda: _metrics(services))
        archive.writestr("metrics.txt", shown if isinstance(shown, str) else json.dumps(shown))


def _known(made: Callable[[], Any]) -> Any:
    """Return a part, or only the type of the error if a server does not answer."""
    try:
        return made()
    except (SQLAlchemyError, RedisError, OSError) as error:
        return {"unavailable": type(error).__name__}


def _versions(services: Services) -> dict[str, Any]:
    with services.store.database.engine.connect() as connection:
        revision = revision_of(connection)
    with services.store.transaction() as tx:
        server = tx.support.server()
    return {
        "made_at": datetime.now(UTC),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "database": server,
        "schema": {"found": revision, "expected": HEAD},
        "redis": _redis_version(services),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _redis_version(services: Services) -> str | None:
    try:
        info: Any = services.redis.info("server")
    except RedisError as error:
        return type(error).__name__
    return str(info.get("redis_version"))


def _settings(services: Services) -> dict[str, Any]:
    with services.store.transaction() as tx:
        config, encrypted = tx.configs.get()
    return {
        "environment": _values(Settings, services.settings),
        "redmine": {**_values(PluginConfig, config), "api_key": SET if encrypted else None},
    }


def _values(model: type[BaseModel], values: BaseModel) -> dict[str, Any]:
    """Return settings: numbers and choices as they are; of anything else only whether it is set."""
    return {
        name: _value(getattr(values, name), is_choice=_is_choice(field.annotation))
        for name, field in model.model_fields.items()
    }


def _is_choice(annotation: Any) -> bool:
    """Return whether a setting is a choice between fixed words."""
    if get_origin(annotation) is Literal:
        return True
    return any(_is_choice(one) for one in get_args(annotation))


def _value(value: Any, *, is_choice: bool = False) -> Any:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str) and is_choice:
        return value
    if isinstance(value, Mapping):
        return {str(key): one for key, one in value.items() if isinstance(key, int) and isinstance(one, int)}
    if isinstance(value, (list, tuple)):
        return [one if isinstance(one, int) else SET for one in value]
    return SET if value else None


def _finding(one: CheckResult) -> dict[str, Any]:
    return {"check": one.check, "status": str(one.status), "article": one.record, **_notice(one.found)}


def _notice(notice: Notice) -> dict[str, Any]:
    """Return a notice's code, and those of its parameters that are numbers, times or codes."""
    params = {name: value for name, one in notice.params.items() if (value := _param(one)) is not None}
    return {"code": _code(notice.code), "params": params}


def _param(value: Any) -> Any:
    if isinstance(value, Notice):
        return _notice(value)
    if isinstance(value, (list, tuple)):
        return [found for one in value if (found := _param(one)) is not None] or None
    return value if isinstance(value, (bool, int, float, datetime, date)) else None


def _code(code: str | None) -> str | None:
    """Return a code if this version knows it; any other could contain a name."""
    return None if code is None else str(code) if code in CODES else OTHER


def _counts(services: Services) -> dict[str, Any]:
    with services.store.transaction() as tx:
        events, ledger = tx.support.events(), tx.support.ledger()
        metadata, users = tx.metadata.counts(), tx.people.cached_count()
        links, overrides = len(tx.mappings.all()), len(tx.people.overrides())
    return {
        "events": [
            {
                "event": kind if kind in KINDS else OTHER,
                "state": state if state in list(EventState) else OTHER,
                "code": _code(code),
                "count": count,
            }
            for kind, state, code, count in events
        ],
        "ledger": ledger,
        "metadata": {**metadata, "user": users},
        "project_mappings": links,
        "user_mappings": overrides,
    }


def _steps(services: Services) -> list[dict[str, Any]]:
    with services.store.transaction() as tx:
        return [_step(one) for one in tx.support.steps(STEPS)]


def _step(one: TraceStep) -> dict[str, Any]:
    found = {"at": one.at, "ticket_id": one.ticket_id, "task_id": one.task_id, **_notice(one.notice)}
    return {**found, "call": _call(one.call)} if one.call else found


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    method, path = call.get("method"), str(call.get("path") or "")
    return {
        "method": method if method in METHODS else OTHER,
        "path": path if _is_of_the_api(path) else OTHER,
        "status": _param(call.get("status")),
        "ms": _param(call.get("ms")),
    }


def _is_of_the_api(path: str) -> bool:
    """Return whether a path of Redmine holds nothing but words of its API and numbers."""
    parts = path.removesuffix(".json").split("/")[1:]
    return all(one in WORDS_OF_PATHS or re.fullmatch(r"\d{1,19}", one) for one in parts)


def _metrics(services: Services) -> str:
    quiet_s = services.settings.quiet_hours * 3600
    shown = metrics.registry(
        "console", StateMetricsCollector(services.redis, services.store, quiet_s=quiet_s)
    )
    families = text_string_to_metric_families(generate_latest(shown).decode())
    samples: Sequence[Any] = [sample for family in families for sample in family.samples]
    return "".join(f"{one.name}{_labels(one.labels)} {one.value}\n" for one in samples)


def _labels(labels: Mapping[str, str]) -> str:
    own = [
        f'{name}="{_code(value) if name == "code" and value else value}"'
        for name, value in labels.items()
        if name in LABELS and WORD.fullmatch(value)
    ]
    return f"{{{','.join(own)}}}" if own else ""
