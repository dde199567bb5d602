"""What an administrator does in deskbridge while everything fails: mappings, templates, decisions, replays."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import SQLAlchemyError

from producer.admin.backfill.replay import replay_state
from producer.admin.configuration.configuration import change
from producer.admin.projects.mappings import add_mapping, remove_mapping
from producer.admin.records.transaction import Store
from producer.admin.review.held import NotResolved, decide, rows_on_hold
from producer.admin.templates.defaults import default_template
from producer.admin.templates.templates import TemplateStore
from shared.errors import NotFound
from shared.events.text import normalised
from shared.notices.kinds import ADDITIONS, Kind
from shared.store.configuration.mappings import MappingKind, ProjectMapping
from shared.store.tables.journal import EventState
from shared.store.tables.ledger import LedgerRow, LedgerState
from shared.templating.operations import Operation
from tests.drill.day import PUBLIC_ENTITY
from tests.drill.texts import as_sent
from tests.support.bridge import STATUS_MAP

if TYPE_CHECKING:
    from deploy.sandbox.tracker.control import StandIn

WHO = "drill"
SUFFIX = " (by a template)"
"""What the templates of a drill add to an issue's description and a time entry's comment."""

PUBLIC_PROJECT = 2
FIELDS = {Operation.ISSUE_CREATE: "description", Operation.TIME_ENTRY_CREATE: "comments"}
OTHERWISE = {1: 1, 2: 2, 5: 5}
AGAIN_S = 1.0
OTHER_TEXT = "with another text"
TEXTS_OF = {Kind.TICKET: ("subject", "description"), Kind.TICKET_TASK: ("comments",)}
Texts = tuple[str | None, ...]
Later = Callable[[float, Callable[[], None]], None]


class Administrator:
    """Changes settings and reverts them; decides rows on hold.

    Args:
        store: deskbridge's database.
        stand_in: the tracker, which a person checks before deciding.
    """

    def __init__(self, store: Store, stand_in: StandIn) -> None:
        self._store = store
        self._stand_in = stand_in
        self._templates = TemplateStore(store)
        self._to_undo: dict[str, Callable[[], Any]] = {}

    def link(self, later: Later, project_id: int | None, lasts: float) -> int:
        """Map the public entity to another project, or remove its mapping, for some seconds."""
        if project_id is None:
            with suppress(NotFound):  # another fault has already removed it
                remove_mapping(self._store, MappingKind.ENTITY, PUBLIC_ENTITY)
        else:
            self._link(project_id)
        return self._for_a_while(later, lasts, "link", lambda: self._link(PUBLIC_PROJECT))

    def template(self, later: Later, operation: str, lasts: float) -> int:
        """Activate a template that adds to the text, for some seconds."""
        template_id = self._template(Operation(operation))
        self._templates.activate(template_id, WHO)
        return self._for_a_while(
            later, lasts, operation, lambda: self._templates.deactivate(template_id, WHO)
        )

    def status_map(self, later: Later, lasts: float) -> int:
        """Map one status differently and leave one unmapped, for some seconds."""
        self._map(OTHERWISE)
        return self._for_a_while(later, lasts, "status_map", lambda: self._map(STATUS_MAP))

    def replay(self, state: str) -> int:
        """Replay every event in a state."""
        return replay_state(self._store, EventState(state)).events

    def resolve(self, reason: str = "") -> int:
        """Decide every row on hold whose reason contains a text, as a person does after a look at the tracker."""
        held = [one for one in rows_on_hold(self._store) if reason in (one[1].reason or "")]
        if not held:
            return 0
        state = self._stand_in.state()
        journals = [one for row in state["issues"] for one in row["journals"]]
        notes: dict[int, Texts | None] = {
            one["id"]: (as_sent(one["notes"]),) for one in journals if one["notes"]
        }
        files = [row for row in state["attachments"] if row["issue_id"] is not None]
        known: dict[Kind, dict[int, Texts | None]] = {
            Kind.TICKET: {
                row["id"]: (row["subject"], as_sent(row["description"])) for row in state["issues"]
            },
            Kind.TICKET_TASK: {row["id"]: (as_sent(row["comments"]),) for row in state["time_entries"]},
            **dict.fromkeys(ADDITIONS, notes),
            Kind.DOCUMENT: {row["id"]: None for row in files},
        }
        decided = 0
        for kind, row in held:
            with self._store.transaction() as tx:
                free = [
                    one
                    for one in row.candidates or ()
                    if one in known[kind]
                    and _is_its_own(kind, row, known[kind][one])
                    and tx.ledger(kind).holder(one) is None
                ]
            adopt = min(free, default=None) if row.state == LedgerState.ON_HOLD else None
            with suppress(NotFound, NotResolved):  # a worker has decided meanwhile
                decide(self._store, kind, row.key, adopt)
                decided += 1
        return decided

    def recognise(self) -> int:
        """Decide on the rows of which only a text could tell whose object it is; return how many there were."""
        return self.resolve(OTHER_TEXT)

    def settle(self) -> None:
        """Revert every change that is still active."""
        for name in list(self._to_undo):
            self._undo(name)

    def _for_a_while(self, later: Later, lasts: float, name: str, undo: Callable[[], Any]) -> int:
        def over() -> None:
            try:
                self._undo(name)
            except SQLAlchemyError:  # another fault has taken the database down
                later(AGAIN_S, over)

        self._to_undo[name] = undo
        later(lasts, over)
        return 1

    def _undo(self, name: str) -> None:
        undo = self._to_undo.get(name)
        if undo is not None:
            undo()
            self._to_undo.pop(name)

    def _link(self, project_id: int) -> None:
        add_mapping(
            self._store, ProjectMapping(MappingKind.ENTITY, PUBLIC_ENTITY, project_id, None), replay=True
        )

    def _map(self, status_map: Mapping[int, int]) -> None:
        change(self._store, {"status_map": json.dumps(status_map)}, replay=True)

    def _template(self, operation: Operation) -> int:
        for one in self._templates.list(operation):
            return one.id
        body = json.loads(default_template(operation))
        body[operation.top_key][FIELDS[operation]] += SUFFIX
        return self._templates.create(operation, WHO, json.dumps(body), WHO).id


def _is_its_own(kind: Kind, row: LedgerRow, texts: Texts | None) -> bool:
    """Return whether an attempt of a row sent these texts; None: the object has none."""
    bodies = [next(iter(body.values())) for body in (row.body, *(row.earlier or ())) if body]
    sent = [tuple(body.get(name) for name in TEXTS_OF.get(kind, ("notes",))) for body in bodies]
    return texts is None or _normalised(texts) in map(_normalised, sent)


def _normalised(texts: Texts) -> tuple[str, ...]:
    return tuple(normalised(str(text or "")) for text in texts)
