"""Matches by e-mail are pinned; those that hold today are, too."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
MOMENT = sa.DateTime(timezone=True)
ADDRESS = re.compile(r"[\x21-\x7e]+")


def upgrade() -> None:
    """Apply this revision: the version before goes on matching by itself, and never sees the new table."""
    pins = op.create_table(
        "user_pin",
        sa.Column("helpdesk_user_id", KEY, autoincrement=False, nullable=False),
        sa.Column("tracker_user_id", KEY, nullable=False),
        sa.Column("pinned_at", MOMENT, nullable=False),
        sa.Column("confirmed_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("helpdesk_user_id"),
    )
    op.create_index("ix_user_pin_tracker_user_id", "user_pin", ["tracker_user_id"])
    _pin_everybody(op.get_bind(), pins)


def _pin_everybody(connection: sa.Connection, pins: sa.Table) -> None:
    """Pin who is matched now, and forget the comparable form of addresses that are not compared any longer."""
    people = connection.execute(sa.text("SELECT tracker_user_id, mail, mail_key FROM tracker_user")).all()
    forget = sa.text("UPDATE tracker_user SET mail_key = NULL WHERE tracker_user_id = :id")
    for user_id, mail, key in people:
        if key is not None and _key(mail) is None:
            connection.execute(forget, {"id": user_id})
    keys = [(user_id, key) for user_id, mail, _ in people if (key := _key(mail))]
    several = Counter(key for _, key in keys)
    by_key = {key: user_id for user_id, key in keys if several[key] == 1}
    seen = connection.execute(sa.text("SELECT helpdesk_user_id, email FROM helpdesk_user")).all()
    now = datetime.now(UTC)
    rows = [
        {"helpdesk_user_id": one, "tracker_user_id": by_key[key], "pinned_at": now}
        for one, email in seen
        if (key := _key(email)) in by_key
    ]
    if rows:
        connection.execute(pins.insert(), rows)


def _key(mail: str | None) -> str | None:
    address = (mail or "").strip(" \t\r\n")
    return address.lower() if ADDRESS.fullmatch(address) else None


def downgrade() -> None:
    """Take this revision back."""
    op.drop_table("user_pin")
