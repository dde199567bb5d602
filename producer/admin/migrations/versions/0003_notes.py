"""Notes: the ledger of follow-ups and solutions, and which tickets have some that wait for an issue."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

KEY_OF_OTHERS = (
    "key = CASE WHEN event = 'unreadable' THEN 'unreadable' WHEN task_id IS NULL THEN 'ticket:' || ticket_id "
    "ELSE 'ticket-task:' || task_id END"
)
KEY_OF_ALL = (
    "CASE WHEN event IN ('followup.added', 'solution.added') "
    "THEN task_id IS NULL AND key ~ ('^' || split_part(event, '.', 1) || ':[1-9][0-9]{0,18}$') "
    f"ELSE {KEY_OF_OTHERS} END"
)
"""What a row's key must be: a producer's account can only add rows that agree with themselves."""
KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply this revision."""
    _check_key(KEY_OF_ALL)
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
    _check_key(KEY_OF_OTHERS, "DELETE FROM journal WHERE event IN ('followup.added', 'solution.added')")
    op.drop_table("note_link")
    op.drop_column("ticket_state", "notes_wait")


def _check_key(check: str, first: str | None = None) -> None:
    """Replace the check of the journal's keys, which only PostgreSQL has; the rows that are there need no look."""
    if op.get_bind().dialect.name != "postgresql":
        return
    if first:
        op.execute(first)
    op.execute("ALTER TABLE journal DROP CONSTRAINT ck_journal_key")
    op.execute(f"ALTER TABLE journal ADD CONSTRAINT ck_journal_key CHECK ({check}) NOT VALID")
