"""The peer's Celery application and its one task: `celery -A tests.bench.peer.tasks worker --pool threads`."""

from __future__ import annotations

from typing import Any

import requests
from celery import Celery
from inscriptis import get_text
from sqlalchemy import create_engine, select
from sqlalchemy.orm import Session

from tests.bench.peer.config import load
from tests.bench.peer.models import EntityMappingRow, Person, ProjectMappingRow, TaskLink, TicketLink
from tests.bench.peer.tracker import Tracker

DONE = 2

config = load()
app = Celery("plain", broker=config.broker_url)
app.conf.update(task_ignore_result=True, broker_connection_retry_on_startup=True)
engine = create_engine(config.database_url, pool_size=10, pool_pre_ping=True)
tracker = Tracker(config)


@app.task(  # type: ignore[untyped-decorator]
    autoretry_for=(requests.RequestException,), retry_backoff=True, retry_jitter=True, max_retries=8
)
def forward(event: dict[str, Any]) -> None:
    """Forward one event."""
    ticket, task = event["ticket"], event["task"]
    with Session(engine, expire_on_commit=False) as db:
        project = _project_of(db, ticket)
        if project is None:
            return
        link = db.get(TicketLink, ticket["id"])
        if event["event"] == "ticket.updated":
            if link and ticket["status"] in config.status_map:
                tracker.set_status(link.issue_id, config.status_map[ticket["status"]])
            return
        if task["state"] != DONE or task["actiontime"] <= 0 or db.get(TaskLink, task["id"]):
            return
        if link is None:
            link = TicketLink(ticket_id=ticket["id"], issue_id=_create_issue(db, ticket, project))
            db.add(link)
            db.commit()
        entry_id = _log_time(db, ticket, task, link.issue_id, project)
        db.add(TaskLink(task_id=task["id"], time_entry_id=entry_id))
        db.commit()


def _project_of(db: Session, ticket: dict[str, Any]) -> ProjectMappingRow | EntityMappingRow | None:
    if ticket["project_id"] is not None:
        link = db.get(ProjectMappingRow, ticket["project_id"])
        if link:
            return link
    return db.get(EntityMappingRow, ticket["entity_id"])


def _person_of(db: Session, user: dict[str, Any] | None, project_id: int) -> Person | None:
    if user is None or not user["email"]:
        return None
    person = db.scalar(select(Person).where(Person.email == user["email"].lower()))
    if person:
        tracker.ensure_member(project_id, person.tracker_user_id)
    return person


def _create_issue(db: Session, ticket: dict[str, Any], project: ProjectMappingRow | EntityMappingRow) -> int:
    person = _person_of(db, ticket["technician"], project.tracker_project_id)
    body = {
        "project_id": project.tracker_project_id,
        "subject": _text(ticket["title"])[:255],
        "description": _text(ticket["content"]),
        "tracker_id": config.default_tracker_id,
        "priority_id": config.default_priority_id,
        "status_id": config.status_map.get(ticket["status"]),
        "category_id": project.category_id,
    }
    return tracker.create("/issues.json", "issue", body, person.login if person else None)


def _log_time(
    db: Session,
    ticket: dict[str, Any],
    task: dict[str, Any],
    issue_id: int,
    project: ProjectMappingRow | EntityMappingRow,
) -> int:
    person = _person_of(db, task["user"], project.tracker_project_id)
    body = {
        "issue_id": issue_id,
        "hours": round(task["actiontime"] / 3600, 2),
        "comments": _text(task["content"]) or f"Work on helpdesk ticket #{ticket['id']}",
        "activity_id": config.default_activity_id,
    }
    return tracker.create("/time_entries.json", "time_entry", body, person.login if person else None)


def _text(html: str | None) -> str:
    return get_text(html).strip() if html else ""
