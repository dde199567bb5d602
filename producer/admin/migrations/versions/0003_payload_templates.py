"""Payload templates with their versions and history, and what dry runs have left on the tracker."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Apply this revision: it only adds tables, so the version before goes on working beside it."""
    _templates()
    op.create_table(
        "dry_run_object",
        sa.Column("id", KEY, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("mark", sa.String(length=64), nullable=False),
        sa.Column("tracker_project_id", KEY, nullable=True),
        sa.Column("tracker_id", KEY, nullable=True),
        sa.Column("begun_at", MOMENT, nullable=False),
        sa.Column("attempts", KEY, nullable=False),
        sa.Column("next_attempt_at", MOMENT, nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )


def _templates() -> None:
    op.create_table(
        "payload_template",
        sa.Column("id", KEY, nullable=False),
        sa.Column("operation", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("version", KEY, nullable=False),
        sa.Column("active_version", KEY, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("operation", "name", name="uq_payload_template_name"),
        sqlite_autoincrement=True,
    )
    active = sa.text("active_version IS NOT NULL")
    op.create_index(
        "uq_payload_template_active",
        "payload_template",
        ["operation"],
        unique=True,
        sqlite_where=active,
        postgresql_where=active,
    )
    op.create_table(
        "payload_template_version",
        sa.Column("template_id", KEY, autoincrement=False, nullable=False),
        sa.Column("version", KEY, autoincrement=False, nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("template_id", "version"),
    )
    op.create_table(
        "payload_template_change",
        sa.Column("id", KEY, nullable=False),
        sa.Column("template_id", KEY, nullable=False),
        sa.Column("version", KEY, nullable=False),
        sa.Column("what", sa.String(length=16), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_payload_template_change_template", "payload_template_change", ["template_id"])


def downgrade() -> None:
    """Take this revision back."""
    op.drop_table("dry_run_object")
    op.drop_index("ix_payload_template_change_template", table_name="payload_template_change")
    op.drop_table("payload_template_change")
    op.drop_table("payload_template_version")
    op.drop_index("uq_payload_template_active", table_name="payload_template")
    op.drop_table("payload_template")
