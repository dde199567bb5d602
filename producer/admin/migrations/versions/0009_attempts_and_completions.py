"""What earlier attempts of a creation sent, how many got no clear answer, and what the helpdesk added to events."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

LEDGERS = ("ticket_issue_link", "task_time_link")


def upgrade() -> None:
    """Apply this revision: no row is touched, and the version before never sees the new columns."""
    for table in LEDGERS:
        op.add_column(table, sa.Column("unclear", sa.Integer(), nullable=True))
        op.add_column(table, sa.Column("earlier", sa.Text(), nullable=True))
    op.add_column("journal", sa.Column("completion", sa.Text(), nullable=True))


def downgrade() -> None:
    """Take this revision back."""
    op.drop_column("journal", "completion")
    for table in LEDGERS:
        op.drop_column(table, "earlier")
        op.drop_column(table, "unclear")
