"""The recovery mode, and indexes for what is looked up among a million rows."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
MOMENT = sa.DateTime(timezone=True)


LEDGERS = ("ticket_issue_link", "task_time_link")
OPEN_ROWS = sa.text("state <> 'linked'")
HAS_ENDED = sa.text("ended_at IS NOT NULL")


def upgrade() -> None:
    """Apply this revision: the version before goes on working beside it, which never sees the new table."""
    op.create_table(
        "recovery",
        sa.Column("id", KEY, autoincrement=False, nullable=False),
        sa.Column("since", MOMENT, nullable=False),
        sa.Column("began_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ix_journal_ended_at", "journal", ["ended_at"], sqlite_where=HAS_ENDED, postgresql_where=HAS_ENDED
    )
    for table in LEDGERS:
        op.create_index(
            f"ix_{table}_open", table, ["state"], sqlite_where=OPEN_ROWS, postgresql_where=OPEN_ROWS
        )
        op.drop_index(f"ix_{table}_settle_after", table_name=table)


def downgrade() -> None:
    """Take this revision back."""
    for table in LEDGERS:
        op.create_index(f"ix_{table}_settle_after", table, ["settle_after"])
        op.drop_index(f"ix_{table}_open", table_name=table)
    op.drop_index("ix_journal_ended_at", table_name="journal")
    op.drop_table("recovery")
