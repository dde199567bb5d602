"""Runs a ticket's workflow step by step, up to a point where a test intervenes; no other test code does so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar
from unittest import mock

from shared.notices.kinds import Kind
from tests.support.bridge import Bridge
from worker.ticket import create as creation
from worker.ticket.steps import Admission, Starting, Step, TrackerCall, Workflow

A = TypeVar("A", bound=Step[Any])
PATHS = [kind.path for kind in (Kind.TICKET, Kind.TICKET_TASK)]
CREATING = ContextVar[tuple[Kind, int] | None]("creating", default=None)
"""The ledger row of the current creation, within `naming_creations`."""


def workflow_up_to(bridge: Bridge, kind: type[A], ticket_id: int = 4711) -> tuple[Workflow[Any], A]:
    """Run a ticket's workflow up to a step of a kind; return both."""
    workflow, step = workflow_until(bridge, lambda one: isinstance(one, kind), ticket_id)
    return workflow, step  # type: ignore[return-value]


def workflow_until(
    bridge: Bridge, is_it: Callable[[Step[Any]], bool], ticket_id: int = 4711
) -> tuple[Workflow[Any], Step[Any]]:
    """Run a ticket's workflow up to a step; return both."""
    workflow = bridge.service.sync_ticket(ticket_id)
    return workflow, up_to(workflow, workflow.send(None), is_it)


def up_to(workflow: Workflow[Any], step: Step[Any], is_it: Callable[[Step[Any]], bool]) -> Step[Any]:
    """Run a workflow's steps from one of them up to another, and return the other without running it."""
    while not is_it(step):
        try:
            result = step.carry_out()
        except Exception as error:  # noqa: BLE001 (it belongs to the workflow)
            step = workflow.throw(error)
        else:
            step = workflow.send(result)
    return step


async def going_on(workflow: Workflow[Any], result: Any) -> None:
    """Continue a workflow to its end, with the result of its current step."""
    with suppress(StopIteration):
        action = workflow.send(result)
        while True:
            try:
                result = await action
            except Exception as error:  # noqa: BLE001 (it belongs to the workflow)
                action = workflow.throw(error)
            else:
                action = workflow.send(result)


def is_start(step: Step[Any]) -> bool:
    """Return whether a step starts work, which a stopping process, or any process in an outage, does not."""
    return isinstance(step, Starting)


def is_admission(step: Step[Any]) -> bool:
    """Return whether a step requests admission for a ticket."""
    return isinstance(step, Admission)


def is_creation(step: Step[Any]) -> bool:
    """Return whether a step sends a claimed creation."""
    request = step.request if isinstance(step, TrackerCall) else None
    return request is not None and creates(request.method, request.path, request.body)


def creates(method: str, path: str, body: Any) -> bool:
    """Return whether a request creates an issue, a time entry, a note or an attachment."""
    is_addition = method == "PUT" and not {"notes", "uploads"}.isdisjoint((body or {}).get("issue", {}))
    return is_addition or (method == "POST" and path in PATHS)


@contextmanager
def naming_creations() -> Iterator[None]:
    """Set `CREATING` to the row during each creation, from its request to the read-back."""
    create = creation.send

    async def sending(wanted: Any, *others: Any) -> Any:
        CREATING.set((wanted.kind, wanted.key))
        try:
            return await create(wanted, *others)
        finally:
            CREATING.set(None)

    with mock.patch.object(creation, "send", sending):
        yield


class Killed(BaseException):
    """A killed process does nothing more, even if its workflow would clean up."""


def kill(workflow: Workflow[Any]) -> None:
    """End a workflow at its current step."""
    with suppress(Killed):
        while True:
            workflow.throw(Killed())
