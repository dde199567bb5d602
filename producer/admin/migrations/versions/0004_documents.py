"""Documents: the ledger of attachments."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

KEY_OF_OTHERS = (
    "key = CASE WHEN event = 'unreadable' THEN 'unreadable' WHEN task_id IS NULL THEN 'ticket:' || ticket_id "
    "ELSE 'ticket-task:' || task_id END"
)
KEY_OF_ADDITIONS = (
    "CASE WHEN event IN ({events}) "
    "THEN task_id IS NULL AND key ~ ('^' || split_part(event, '.', 1) || ':[1-9][0-9]{{0,18}}$') "
    "ELSE {others} END"
)
NOTES, ALL = "'followup.added', 'solution.added'", "'followup.added', 'solution.added', 'document.added'"
KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply this revision."""
    _check_key(ALL)
    op.create_table(
        "document_link",
        sa.Column("item_id", KEY, autoincrement=False, nullable=False),
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
        sa.PrimaryKeyConstraint("item_id"),
    )
    op.create_index("ix_document_link_fingerprint", "document_link", ["fingerprint"], unique=False)
    op.create_index(
        "ix_document_link_open",
        "document_link",
        ["state"],
        unique=False,
        sqlite_where=sa.text("state <> 'linked'"),
        postgresql_where=sa.text("state <> 'linked'"),
    )
    op.create_index("ix_document_link_ticket_id", "document_link", ["ticket_id"], unique=False)
    op.create_index(
        "uq_document_link_tracker_id",
        "document_link",
        ["tracker_id"],
        unique=True,
        sqlite_where=sa.text("state <> 'gone'"),
        postgresql_where=sa.text("state <> 'gone'"),
    )


def downgrade() -> None:
    """Take this revision back."""
    _check_key(NOTES, "DELETE FROM journal WHERE event = 'document.added'")
    op.drop_table("document_link")


def _check_key(events: str, first: str | None = None) -> None:
    """Replace the check of the journal's keys, which only PostgreSQL has; the rows that are there need no look."""
    if op.get_bind().dialect.name != "postgresql":
        return
    if first:
        op.execute(first)
    check = KEY_OF_ADDITIONS.format(events=events, others=KEY_OF_OTHERS)
    op.execute("ALTER TABLE journal DROP CONSTRAINT ck_journal_key")
    op.execute(f"ALTER TABLE journal ADD CONSTRAINT ck_journal_key CHECK ({check}) NOT VALID")
