"""A person who decides rows on hold: looks on the tracker, then adopts an object or has it created again."""

from __future__ import annotations

from producer.admin.backfill.replay import replay_state
from producer.admin.review.held import decide, rows_on_hold
from shared.notices.kinds import Kind
from shared.notices.reasons import Reason
from shared.store.tables.journal import EventState
from shared.store.tables.ledger import LedgerRow
from tests.model.oracle import look
from tests.model.world import World


def decide_everything(world: World) -> bool:
    """Decide every row on hold and replay every failed event; tell whether there was any."""
    held = rows_on_hold(world.store)
    for kind, row in held:
        decide(world.store, kind, row.key, _found(world, kind, row))
    return bool(held) or bool(replay_state(world.store, EventState.FAILED).tickets)


def _found(world: World, kind: Kind, row: LedgerRow) -> int | None:
    """Return the tracker object to adopt for a row, or None; delete the row's other candidates."""
    ended, data = look(world), world.tracker.data
    delete = {
        Kind.TICKET: data.delete_issue,
        Kind.TICKET_TASK: data.delete_time_entry,
        Kind.DOCUMENT: world.tracker.delete_attachment,
    }.get(kind, world.tracker.delete_note)
    there, taken = ended.there(kind), ended.taken(kind)
    its_own = [one for one in row.candidates or () if one in there and one not in taken]
    if world.rules.edits_texts:
        its_own = [one for one in its_own if _may_be_of(world, kind, row, one)]
    alike = [
        one.tracker_id
        for one in ended.left_over()
        if one.fingerprint == row.fingerprint
        and (kind is not Kind.TICKET_TASK or data.time_entries[one.tracker_id].hours in _hours_sent(row))
    ]
    on_the_wrong_issue = row.has_code(Reason.ISSUE_GIVEN_UP) or row.has_code(Reason.ISSUE_IS_ANOTHERS)
    if on_the_wrong_issue or (row.duplicate and world.rules.policy == "hold"):
        # nobody else has looked for objects that are not known
        its_own += [one for one in alike if one not in its_own]
    found = its_own or alike
    keep = None if on_the_wrong_issue or not found else found[0 if world.rules.keeps_first else -1]
    for tracker_id in its_own:
        if tracker_id != keep:
            delete(tracker_id)
    return keep


def _hours_sent(row: LedgerRow) -> set[float]:
    """Return the hours that a time entry's attempts sent; a fingerprint omits them, but a person compares them."""
    return {body["time_entry"]["hours"] for body in (row.body, *(row.earlier or ())) if body}


def _may_be_of(world: World, kind: Kind, row: LedgerRow, tracker_id: int) -> bool:
    """Return whether an object was made of a row's text, which a person recognises whatever the tracker added to it."""
    noun, made = kind.noun, world.tracker.made
    of = next((one for one in made if one.kind.noun == noun and one.tracker_id == tracker_id), None)
    return of is not None and (of.fingerprint == row.fingerprint or (of.kind, of.key) == (kind, row.key))
