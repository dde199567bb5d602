"""What identifies an object on the tracker beside its text, a database after a restore; changed notes and documents."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

ADDITIONS = "'followup.added', 'solution.added', 'document.added'"
OF_TICKET = (
    "key = CASE WHEN event = 'unreadable' THEN 'unreadable' WHEN task_id IS NULL THEN 'ticket:' || ticket_id "
    "ELSE 'ticket-task:' || task_id END"
)
OF_ADDITION = "task_id IS NULL AND key ~ ('^' || split_part(event, '.', 1) || ':[1-9][0-9]{0,18}$')"
KEY_BEFORE = f"CASE WHEN event IN ({ADDITIONS}) THEN {OF_ADDITION} ELSE {OF_TICKET} END"
KEY_AFTER = f"CASE WHEN event ~ '^(followup|solution|document)[.]' THEN {OF_ADDITION} ELSE {OF_TICKET} END"
"""The condition for a row's key: a producer's database account can only add consistent rows."""
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
LEDGERS = ("ticket_issue_link", "task_time_link", "note_link", "document_link")


def upgrade() -> None:
    """Apply this revision."""
    _check_key(KEY_AFTER)
    # events dated ahead used to count as of five minutes after their arrival
    op.execute("UPDATE journal SET occurred_at = received_at WHERE clamped AND state = 'pending'")
    for table in LEDGERS:
        op.add_column(table, sa.Column("newest_before", NUMBER, nullable=True))
        for column in ("created_on", "item_created_at"):
            op.add_column(table, sa.Column(column, sa.DateTime(timezone=True), nullable=True))
    op.add_column("helpdesk_user", sa.Column("is_requester", sa.Boolean(), nullable=True))
    op.add_column("user_pin", sa.Column("is_additional", sa.Boolean(), nullable=True))
    op.add_column("installation", sa.Column("epoch", NUMBER, nullable=True))
    op.add_column("installation", sa.Column("database", sa.Text(), nullable=True))
    op.add_column("installation", sa.Column("highest", sa.Text(), nullable=True))
    op.add_column("recovery", sa.Column("backup_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    """Revert this revision."""
    if op.get_bind().dialect.name == "postgresql":
        is_new = f"event ~ '^(followup|solution|document)[.]' AND event NOT IN ({ADDITIONS})"
        op.execute(f"DELETE FROM journal WHERE {is_new}")  # noqa: S608 - our own names
    _check_key(KEY_BEFORE)
    op.drop_column("recovery", "backup_at")
    op.drop_column("installation", "highest")
    op.drop_column("installation", "database")
    op.drop_column("installation", "epoch")
    op.drop_column("user_pin", "is_additional")
    op.drop_column("helpdesk_user", "is_requester")
    for table in LEDGERS:
        op.drop_column(table, "item_created_at")
        op.drop_column(table, "created_on")
        op.drop_column(table, "newest_before")


def _check_key(check: str) -> None:
    """Replace the check of the journal's keys, which only PostgreSQL has; existing rows are not checked."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE journal DROP CONSTRAINT ck_journal_key")
        op.execute(f"ALTER TABLE journal ADD CONSTRAINT ck_journal_key CHECK ({check}) NOT VALID")
