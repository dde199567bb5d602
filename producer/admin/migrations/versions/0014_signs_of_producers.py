"""Signs of life of the producers, and what they refused."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply this revision: a table that the version before never sees."""
    op.create_table(
        "producer_sign",
        sa.Column("name", sa.String(300), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("process", sa.Text(), nullable=False),
        sa.Column("refused", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_producer_sign"),
    )


def downgrade() -> None:
    """Take this revision back."""
    op.drop_table("producer_sign")
