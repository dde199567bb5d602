"""Why a metadata synchronisation failed, as a code with parameters."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply this revision: the version before leaves the new columns empty."""
    op.add_column("metadata_run", sa.Column("code", sa.String(64), nullable=True))
    op.add_column("metadata_run", sa.Column("params", sa.Text(), nullable=True))


def downgrade() -> None:
    """Take this revision back."""
    op.drop_column("metadata_run", "params")
    op.drop_column("metadata_run", "code")
