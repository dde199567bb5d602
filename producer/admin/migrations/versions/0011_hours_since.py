"""From which day on hours are wanted of what the helpdesk has and no event told of."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply this revision: the version before never sees the new column."""
    op.add_column("reconciliation_mark", sa.Column("hours_since", sa.Text(), nullable=True))


def downgrade() -> None:
    """Take this revision back."""
    op.drop_column("reconciliation_mark", "hours_since")
