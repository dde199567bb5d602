"""What identifies an object on the tracker beside its text: the newest id before the send, and when it was created."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

LEDGERS = ("ticket_issue_link", "task_time_link", "note_link", "document_link")


def upgrade() -> None:
    """Apply this revision."""
    for table in LEDGERS:
        op.add_column(
            table,
            sa.Column("newest_before", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        )
        op.add_column(table, sa.Column("created_on", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    """Revert this revision."""
    for table in LEDGERS:
        op.drop_column(table, "created_on")
        op.drop_column(table, "newest_before")
