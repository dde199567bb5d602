"""The records that ship with deskbridge: what the doctor's findings and the hints name."""

from __future__ import annotations

from importlib.resources import files

from producer.admin.knowledge.record import Record, parse_record
from shared.codes.refusals import Refusal
from shared.errors import NotFound

RECORDS = files("producer.admin.knowledge") / "records"


def shipped(record_id: str) -> Record:
    """Return a record by its id.

    Raises:
        NotFound: there is none with that id.
    """
    names = {one.name for one in RECORDS.iterdir()}
    if f"{record_id}.md" not in names or not record_id.startswith("KB-"):
        raise NotFound(Refusal.RECORD_UNKNOWN(record=record_id))
    return parse_record((RECORDS / f"{record_id}.md").read_text(encoding="utf-8"))
