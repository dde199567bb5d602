"""Who may sign in to the console, who changed what, and the indexes that its pages need."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Apply this revision: the version before never sees the new tables."""
    op.create_table(
        "console_account",
        sa.Column("id", KEY, nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("right", sa.String(16), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("disabled_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "console_session",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("account_id", KEY, nullable=False),
        sa.Column("began_at", MOMENT, nullable=False),
        sa.Column("seen_at", MOMENT, nullable=False),
        sa.Column("ends_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_index("ix_console_session_account_id", "console_session", ["account_id"])
    op.create_table(
        "console_sign_in_link",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("account_id", KEY, nullable=False),
        sa.Column("ends_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_table(
        "api_token",
        sa.Column("id", KEY, nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("right", sa.String(16), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT, nullable=True),
        sa.Column("revoked_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
        sa.UniqueConstraint("digest"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "change_record",
        sa.Column("id", KEY, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("code", sa.String(64), nullable=False),
        sa.Column("params", sa.Text(), nullable=False),
        sa.Column("before", sa.Text(), nullable=True),
        sa.Column("after", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_change_record_at", "change_record", ["at"])
    op.create_index("ix_journal_received_at", "journal", ["received_at"])
    op.create_index("ix_journal_event", "journal", ["event", "id"])


def downgrade() -> None:
    """Take this revision back."""
    op.drop_index("ix_journal_event", "journal")
    op.drop_index("ix_journal_received_at", "journal")
    for table in ("change_record", "api_token", "console_sign_in_link", "console_session", "console_account"):
        op.drop_table(table)
