"""Whose an API token is."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply this revision: tokens that the version before makes have no owner, as those that it made."""
    op.add_column("api_token", sa.Column("owner_id", KEY, nullable=True))


def downgrade() -> None:
    """Take this revision back."""
    op.drop_column("api_token", "owner_id")
