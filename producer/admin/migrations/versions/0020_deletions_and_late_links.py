"""Which tickets the helpdesk has deleted, and where those are that were skipped for lack of a link."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply this revision: a table and a column that the version before never sees."""
    op.create_table(
        "ticket_deletion",
        sa.Column("ticket_id", KEY, nullable=False, autoincrement=False),
        sa.Column("event_id", KEY, nullable=False),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sequence", KEY, nullable=False),
        sa.Column("is_deleted", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("ticket_id", name="pk_ticket_deletion"),
    )
    op.add_column("ticket_state", sa.Column("unlinked_place", sa.Text(), nullable=True))


def downgrade() -> None:
    """Take this revision back."""
    op.drop_column("ticket_state", "unlinked_place")
    op.drop_table("ticket_deletion")
