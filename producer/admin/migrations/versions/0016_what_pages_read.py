"""Indexes for pages: which statuses there are, the newest wrong authors, and who a tracker user is already."""

from __future__ import annotations

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply this revision: the version before never sees it."""
    op.create_index("ix_ticket_state_status", "ticket_state", ["status"])
    op.create_index("ix_misattributed_at", "misattributed", ["at", "kind", "key"])
    op.create_index("ix_user_map_tracker_user_id", "user_map", ["tracker_user_id"])


def downgrade() -> None:
    """Take this revision back."""
    op.drop_index("ix_user_map_tracker_user_id", "user_map")
    op.drop_index("ix_misattributed_at", "misattributed")
    op.drop_index("ix_ticket_state_status", "ticket_state")
