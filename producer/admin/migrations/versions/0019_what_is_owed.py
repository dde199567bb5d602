"""The newest status that is mapped, and the fields of an issue that the tracker did not take."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply this revision: no row is touched, and the version before never sees the new columns."""
    for column in (
        sa.Column("mapped_status", KEY, nullable=True),
        sa.Column("mapped_event_id", KEY, nullable=True),
        sa.Column("fields_due", sa.Text(), nullable=True),
        sa.Column("fields_kept", sa.Text(), nullable=True),
        sa.Column("fields_attempts", KEY, nullable=True),
        sa.Column("fields_at", sa.DateTime(timezone=True), nullable=True),
    ):
        op.add_column("ticket_state", column)
    for name in ("fields_due", "fields_kept"):
        some = sa.text(f"{name} IS NOT NULL")
        op.create_index(
            f"ix_ticket_state_{name}",
            "ticket_state",
            ["ticket_id"],
            sqlite_where=some,
            postgresql_where=some,
        )


def downgrade() -> None:
    """Take this revision back."""
    for name in ("fields_due", "fields_kept"):
        op.drop_index(f"ix_ticket_state_{name}", "ticket_state")
    for name in (
        "fields_at",
        "fields_attempts",
        "fields_kept",
        "fields_due",
        "mapped_event_id",
        "mapped_status",
    ):
        op.drop_column("ticket_state", name)
