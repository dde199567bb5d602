"""Which tracker status was given, so that another status_map is noticed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply this revision: no row is touched, and the version before never sees the new column."""
    op.add_column("ticket_state", sa.Column("given_status_id", KEY, nullable=True))


def downgrade() -> None:
    """Take this revision back."""
    op.drop_column("ticket_state", "given_status_id")
