"""On PostgreSQL the journal takes only rows that make sense, whoever appends them."""

from __future__ import annotations

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply this revision. The rows that are there are not looked at: that would keep everybody waiting."""
    if op.get_bind().dialect.name != "postgresql":
        return  # has no roles, so that whoever can append a row can do everything else, too
    for name, condition in CHECKS.items():
        op.execute(f"ALTER TABLE journal ADD CONSTRAINT {name} CHECK ({condition}) NOT VALID")


def downgrade() -> None:
    """Take this revision back."""
    if op.get_bind().dialect.name != "postgresql":
        return
    for name in CHECKS:
        op.execute(f"ALTER TABLE journal DROP CONSTRAINT {name}")


CHECKS = {
    "ck_journal_key": (
        "key = CASE WHEN event = 'unreadable' THEN 'unreadable' WHEN task_id IS NULL THEN 'ticket:' || ticket_id "
        "ELSE 'ticket-task:' || task_id END"
    ),
    "ck_journal_times": (
        "occurred_at >= '1969-12-31' AND occurred_at < '2200-01-01' "
        "AND received_at >= '1969-12-31' AND received_at < '2200-01-01'"
    ),
    "ck_journal_payload": "octet_length(payload) <= 4194304",
    "ck_journal_attempts": "attempts >= 0",
}
