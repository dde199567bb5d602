"""Which trace of the helpdesk an event came with."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply this revision: the version before leaves the new column empty."""
    op.add_column("journal", sa.Column("traceparent", sa.String(55), nullable=True))


def downgrade() -> None:
    """Take this revision back."""
    op.drop_column("journal", "traceparent")
