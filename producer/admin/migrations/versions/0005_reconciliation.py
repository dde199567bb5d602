"""Until when the helpdesk has been compared with the journal."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Apply this revision: the version before goes on working beside it, which never sees the new table."""
    op.create_table(
        "reconciliation_mark",
        sa.Column("id", KEY, autoincrement=False, nullable=False),
        sa.Column("read_until", MOMENT, nullable=False),
        sa.Column("ran_at", MOMENT, nullable=False),
        sa.Column("missing", KEY, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )


def downgrade() -> None:
    """Take this revision back."""
    op.drop_table("reconciliation_mark")
