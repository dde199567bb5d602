"""The installation's id, by which its keys in Redis and its queue are told from another's."""

from __future__ import annotations

from uuid import uuid4

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply this revision: a table that the version before never sees."""
    table = op.create_table(
        "installation",
        sa.Column("id", KEY, nullable=False, autoincrement=False),
        sa.Column("name", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_installation"),
    )
    op.bulk_insert(table, [{"id": 1, "name": uuid4().hex[:12]}])


def downgrade() -> None:
    """Take this revision back."""
    op.drop_table("installation")
