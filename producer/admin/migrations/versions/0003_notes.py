"""Notes: the ledger of follow-ups and solutions, and which tickets have some that wait for an issue."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply this revision."""
    op.add_column("ticket_state", sa.Column("notes_wait", sa.Boolean(), nullable=True))
    op.create_table(
        "note_link",
        sa.Column("item_id", KEY, autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("ticket_id", KEY, nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("attempt", KEY, nullable=False),
        sa.Column("event_id", KEY, nullable=True),
        sa.Column("tracker_project_id", KEY, nullable=True),
        sa.Column("issue_id", KEY, nullable=True),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("authors", sa.Text(), nullable=True),
        sa.Column("fingerprint", sa.String(length=64), nullable=True),
        sa.Column("first_claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("settle_after", sa.DateTime(timezone=True), nullable=True),
        sa.Column("rounds", KEY, nullable=False),
        sa.Column("tracker_id", KEY, nullable=True),
        sa.Column("adopted", sa.Boolean(), nullable=False),
        sa.Column("duplicate", sa.Boolean(), nullable=False),
        sa.Column("author_id", KEY, nullable=True),
        sa.Column("candidates", sa.Text(), nullable=True),
        sa.Column("unclear", sa.Integer(), nullable=True),
        sa.Column("earlier", sa.Text(), nullable=True),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("code", sa.String(length=64), nullable=True),
        sa.Column("params", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("item_id", "kind"),
    )
    op.create_index("ix_note_link_fingerprint", "note_link", ["fingerprint"], unique=False)
    op.create_index(
        "ix_note_link_open",
        "note_link",
        ["state"],
        unique=False,
        sqlite_where=sa.text("state <> 'linked'"),
        postgresql_where=sa.text("state <> 'linked'"),
    )
    op.create_index("ix_note_link_ticket_id", "note_link", ["ticket_id"], unique=False)
    op.create_index(
        "uq_note_link_tracker_id",
        "note_link",
        ["tracker_id"],
        unique=True,
        sqlite_where=sa.text("state <> 'gone'"),
        postgresql_where=sa.text("state <> 'gone'"),
    )


def downgrade() -> None:
    """Take this revision back."""
    op.drop_table("note_link")
    op.drop_column("ticket_state", "notes_wait")
