"""Which tickets' statuses could not be given, found without reading every ticket."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

INDEX, SOME = "ix_ticket_state_status_dropped", sa.text("status_dropped")


def upgrade() -> None:
    """Apply this revision: no row is touched."""
    op.create_index(INDEX, "ticket_state", ["ticket_id"], sqlite_where=SOME, postgresql_where=SOME)


def downgrade() -> None:
    """Take this revision back."""
    op.drop_index(INDEX, "ticket_state")
