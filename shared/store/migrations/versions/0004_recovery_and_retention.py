"""The recovery mode, and indexes for what is looked up among a million rows."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0002"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Apply this revision: it only adds, so the version before goes on working beside it."""
    op.create_table(
        "recovery",
        sa.Column("id", KEY, autoincrement=False, nullable=False),
        sa.Column("since", MOMENT, nullable=False),
        sa.Column("began_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )


def downgrade() -> None:
    """Take this revision back."""
    op.drop_table("recovery")
