"""The newest status that is mapped, and the fields of an issue that the tracker did not take."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
FIELDS = "fields_due IS NOT NULL OR fields_kept IS NOT NULL"


def upgrade() -> None:
    """Apply this revision: no row is touched, and the version before never sees the new columns."""
    for column in (
        sa.Column("mapped_status", KEY, nullable=True),
        sa.Column("mapped_event_id", KEY, nullable=True),
        sa.Column("fields_due", sa.Text(), nullable=True),
        sa.Column("fields_kept", sa.Text(), nullable=True),
        sa.Column("fields_attempts", KEY, nullable=True),
        sa.Column("fields_next_at", sa.DateTime(timezone=True), nullable=True),
    ):
        op.add_column("ticket_state", column)
    where = sa.text(FIELDS)
    op.create_index(
        "ix_ticket_state_fields",
        "ticket_state",
        ["ticket_id"],
        sqlite_where=where,
        postgresql_where=where,
    )


def downgrade() -> None:
    """Take this revision back."""
    op.drop_index("ix_ticket_state_fields", "ticket_state")
    for name in (
        "fields_next_at",
        "fields_attempts",
        "fields_kept",
        "fields_due",
        "mapped_event_id",
        "mapped_status",
    ):
        op.drop_column("ticket_state", name)
