"""How often what is sent is built from was changed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply this revision: a table that the version before never sees."""
    op.create_table(
        "basis",
        sa.Column("id", KEY, nullable=False, autoincrement=False),
        sa.Column("changes", KEY, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_basis"),
    )


def downgrade() -> None:
    """Take this revision back."""
    op.drop_table("basis")
