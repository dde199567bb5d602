"""What has another author on the tracker than was meant."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply this revision: a table that the version before never sees."""
    op.create_table(
        "misattributed",
        sa.Column("kind", sa.String(12), nullable=False),
        sa.Column("key", KEY, nullable=False),
        sa.Column("ticket_id", KEY, nullable=False),
        sa.Column("tracker_id", KEY, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("code", sa.String(64), nullable=True),
        sa.Column("params", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("kind", "key", name="pk_misattributed"),
    )


def downgrade() -> None:
    """Take this revision back."""
    op.drop_table("misattributed")
