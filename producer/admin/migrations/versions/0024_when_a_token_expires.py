"""When an API token expires."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply this revision: tokens that the version before makes never expire, as those that it made."""
    op.add_column("api_token", sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    """Take this revision back."""
    op.drop_column("api_token", "expires_at")
