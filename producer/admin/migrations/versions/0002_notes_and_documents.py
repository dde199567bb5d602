"""Notes and documents: the ledgers of follow-ups, solutions and documents, and which tickets have notes that wait."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ADDITIONS = "'followup.added', 'solution.added', 'document.added'"
KEY_BEFORE = (
    "key = CASE WHEN event = 'unreadable' THEN 'unreadable' WHEN task_id IS NULL THEN 'ticket:' || ticket_id "
    "ELSE 'ticket-task:' || task_id END"
)
KEY_AFTER = (
    f"CASE WHEN event IN ({ADDITIONS}) "
    "THEN task_id IS NULL AND key ~ ('^' || split_part(event, '.', 1) || ':[1-9][0-9]{0,18}$') "
    f"ELSE {KEY_BEFORE} END"
)
"""The condition for a row's key: a producer's database account can only add consistent rows."""
KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply this revision."""
    _check_key(KEY_AFTER)
    op.add_column("ticket_state", sa.Column("notes_wait", sa.Boolean(), nullable=True))
    _create_ledger("note_link", sa.Column("kind", sa.String(length=12), primary_key=True, nullable=False))
    _create_ledger("document_link")


def downgrade() -> None:
    """Revert this revision."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"DELETE FROM journal WHERE event IN ({ADDITIONS})")  # noqa: S608 - our own names
    _check_key(KEY_BEFORE)
    op.drop_table("document_link")
    op.drop_table("note_link")
    op.drop_column("ticket_state", "notes_wait")


def _create_ledger(table: str, *columns: sa.Column[str]) -> None:
    """Create a ledger table."""
    op.create_table(
        table,
        sa.Column("item_id", KEY, primary_key=True, autoincrement=False, nullable=False),
        *columns,
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
        sa.Column("code", sa.String(length=64), nullable=True),
        sa.Column("params", sa.Text(), nullable=True),
    )
    op.create_index(f"ix_{table}_fingerprint", table, ["fingerprint"], unique=False)
    op.create_index(f"ix_{table}_ticket_id", table, ["ticket_id"], unique=False)
    _partial_index(f"ix_{table}_open", table, ["state"], "state <> 'linked'")
    _partial_index(f"uq_{table}_tracker_id", table, ["tracker_id"], "state <> 'gone'", unique=True)


def _partial_index(name: str, table: str, columns: list[str], where: str, *, unique: bool = False) -> None:
    """Create a partial index, on both databases."""
    condition = sa.text(where)
    op.create_index(name, table, columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


def _check_key(check: str) -> None:
    """Replace the check of the journal's keys, which only PostgreSQL has; existing rows are not checked."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE journal DROP CONSTRAINT ck_journal_key")
        op.execute(f"ALTER TABLE journal ADD CONSTRAINT ck_journal_key CHECK ({check}) NOT VALID")
