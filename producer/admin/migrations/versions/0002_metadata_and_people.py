"""Metadata of the tracker, runs of its synchronisation, projects asked for, helpdesk users seen."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply this revision: it only adds tables, so the version before goes on working beside it."""
    op.create_table(
        "metadata_row",
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("tracker_id", KEY, autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("tracker_project_id", KEY, nullable=True),
        sa.Column("details", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "tracker_id"),
    )
    op.create_index("ix_metadata_row_project", "metadata_row", ["kind", "tracker_project_id"], unique=False)
    op.create_table(
        "metadata_run",
        sa.Column("id", KEY, nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ok", sa.Boolean(), nullable=False),
        sa.Column("counts", sa.Text(), nullable=False),
        sa.Column("differences", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "project_claim",
        sa.Column("identifier", sa.String(length=100), nullable=False),
        sa.Column("link_kind", sa.String(length=8), nullable=False),
        sa.Column("helpdesk_id", KEY, nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("attempt", KEY, nullable=False),
        sa.Column("settle_after", sa.DateTime(timezone=True), nullable=True),
        sa.Column("tracker_project_id", KEY, nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("identifier"),
    )
    op.create_table(
        "helpdesk_user",
        sa.Column("helpdesk_user_id", KEY, autoincrement=False, nullable=False),
        sa.Column("email", sa.Text(), nullable=True),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("helpdesk_user_id"),
    )


def downgrade() -> None:
    """Take this revision back."""
    op.drop_table("helpdesk_user")
    op.drop_table("project_claim")
    op.drop_table("metadata_run")
    op.drop_index("ix_metadata_row_project", table_name="metadata_row")
    op.drop_table("metadata_row")
