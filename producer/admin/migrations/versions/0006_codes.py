"""Reasons and steps as codes with parameters, beside the sentences of before (expand)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

EXPLAINED = (
    "journal",
    "ticket_issue_link",
    "task_time_link",
    "project_claim",
    "dry_run_object",
    "trace_step",
)


def upgrade() -> None:
    """Apply this revision: no row is touched; the version before goes on with the columns that it knows."""
    for table in EXPLAINED:
        op.add_column(table, sa.Column("code", sa.String(64), nullable=True))
        op.add_column(table, sa.Column("params", sa.Text(), nullable=True))
    op.add_column("ticket_state", sa.Column("status_code", sa.String(64), nullable=True))
    op.add_column("ticket_state", sa.Column("status_params", sa.Text(), nullable=True))
    op.add_column("ticket_state", sa.Column("status_dropped", sa.Boolean(), nullable=True))


def downgrade() -> None:
    """Take this revision back; reasons that were written as codes stay readable as their code."""
    for column in ("status_dropped", "status_params", "status_code"):
        op.drop_column("ticket_state", column)
    for table in EXPLAINED:
        op.drop_column(table, "params")
        op.drop_column(table, "code")
