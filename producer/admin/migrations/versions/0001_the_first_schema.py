"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply this revision."""
    op.create_table(
        "entity_link",
        sa.Column("entity_id", KEY, autoincrement=False, nullable=False),
        sa.Column("tracker_project_id", KEY, nullable=False),
        sa.Column("default_category_id", KEY, nullable=True),
        sa.PrimaryKeyConstraint("entity_id"),
    )
    op.create_table(
        "journal",
        sa.Column("id", KEY, nullable=False),
        sa.Column("delivery_id", sa.String(length=255), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False),
        sa.Column("key", sa.String(length=40), nullable=False),
        sa.Column("ticket_id", KEY, nullable=False),
        sa.Column("task_id", KEY, nullable=True),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("clamped", sa.Boolean(), nullable=False),
        sa.Column("sequence", KEY, nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("attempts", KEY, nullable=False),
        sa.Column("next_attempt_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("delivery_id", "digest", name="uq_journal_delivery"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_journal_key", "journal", ["key"], unique=False)
    op.create_index("ix_journal_state", "journal", ["state", "next_attempt_at"], unique=False)
    op.create_index("ix_journal_ticket_id", "journal", ["ticket_id", "state"], unique=False)
    op.create_table(
        "membership_known",
        sa.Column("tracker_project_id", KEY, autoincrement=False, nullable=False),
        sa.Column("tracker_user_id", KEY, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("tracker_project_id", "tracker_user_id"),
    )
    op.create_table(
        "plugin_config",
        sa.Column("id", KEY, autoincrement=False, nullable=False),
        sa.Column("values", sa.Text(), nullable=False),
        sa.Column("api_key_encrypted", sa.Text(), nullable=True),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "project_link",
        sa.Column("helpdesk_project_id", KEY, autoincrement=False, nullable=False),
        sa.Column("tracker_project_id", KEY, nullable=False),
        sa.Column("default_category_id", KEY, nullable=True),
        sa.PrimaryKeyConstraint("helpdesk_project_id"),
    )
    op.create_table(
        "task_time_link",
        sa.Column("task_id", KEY, autoincrement=False, nullable=False),
        sa.Column("ticket_id", KEY, nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("attempt", KEY, nullable=False),
        sa.Column("event_id", KEY, nullable=True),
        sa.Column("tracker_project_id", KEY, nullable=True),
        sa.Column("issue_id", KEY, nullable=True),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("authors", sa.Text(), nullable=True),
        sa.Column("fingerprint", sa.String(length=64), nullable=True),
        sa.Column("first_claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("settle_after", sa.DateTime(timezone=True), nullable=True),
        sa.Column("rounds", KEY, nullable=False),
        sa.Column("tracker_id", KEY, nullable=True),
        sa.Column("adopted", sa.Boolean(), nullable=False),
        sa.Column("duplicate", sa.Boolean(), nullable=False),
        sa.Column("author_id", KEY, nullable=True),
        sa.Column("candidates", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("task_id"),
    )
    op.create_index(op.f("ix_task_time_link_fingerprint"), "task_time_link", ["fingerprint"], unique=False)
    op.create_index(op.f("ix_task_time_link_settle_after"), "task_time_link", ["settle_after"], unique=False)
    op.create_index(op.f("ix_task_time_link_ticket_id"), "task_time_link", ["ticket_id"], unique=False)
    op.create_index(
        "uq_task_time_link_tracker_id",
        "task_time_link",
        ["tracker_id"],
        unique=True,
        sqlite_where=sa.text("state <> 'gone'"),
        postgresql_where=sa.text("state <> 'gone'"),
    )
    op.create_table(
        "ticket_issue_link",
        sa.Column("ticket_id", KEY, autoincrement=False, nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("attempt", KEY, nullable=False),
        sa.Column("event_id", KEY, nullable=True),
        sa.Column("tracker_project_id", KEY, nullable=True),
        sa.Column("issue_id", KEY, nullable=True),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("authors", sa.Text(), nullable=True),
        sa.Column("fingerprint", sa.String(length=64), nullable=True),
        sa.Column("first_claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("settle_after", sa.DateTime(timezone=True), nullable=True),
        sa.Column("rounds", KEY, nullable=False),
        sa.Column("tracker_id", KEY, nullable=True),
        sa.Column("adopted", sa.Boolean(), nullable=False),
        sa.Column("duplicate", sa.Boolean(), nullable=False),
        sa.Column("author_id", KEY, nullable=True),
        sa.Column("candidates", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("ticket_id"),
    )
    op.create_index(
        op.f("ix_ticket_issue_link_fingerprint"), "ticket_issue_link", ["fingerprint"], unique=False
    )
    op.create_index(
        op.f("ix_ticket_issue_link_settle_after"), "ticket_issue_link", ["settle_after"], unique=False
    )
    op.create_index(
        "uq_ticket_issue_link_tracker_id",
        "ticket_issue_link",
        ["tracker_id"],
        unique=True,
        sqlite_where=sa.text("state <> 'gone'"),
        postgresql_where=sa.text("state <> 'gone'"),
    )
    op.create_table(
        "ticket_state",
        sa.Column("ticket_id", KEY, autoincrement=False, nullable=False),
        sa.Column("event_id", KEY, nullable=False),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sequence", KEY, nullable=False),
        sa.Column("status", KEY, nullable=False),
        sa.Column("snapshot", sa.Text(), nullable=False),
        sa.Column("given_event_id", KEY, nullable=True),
        sa.Column("status_due", sa.Boolean(), nullable=False),
        sa.Column("status_attempts", KEY, nullable=False),
        sa.Column("status_next_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("status_reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("ticket_id"),
    )
    op.create_index("ix_ticket_state_due", "ticket_state", ["status_due", "status_next_at"], unique=False)
    op.create_table(
        "trace_step",
        sa.Column("id", KEY, nullable=False),
        sa.Column("ticket_id", KEY, nullable=False),
        sa.Column("task_id", KEY, nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("call", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_trace_step_at"), "trace_step", ["at"], unique=False)
    op.create_index(op.f("ix_trace_step_ticket_id"), "trace_step", ["ticket_id"], unique=False)
    op.create_table(
        "tracker_user",
        sa.Column("tracker_user_id", KEY, autoincrement=False, nullable=False),
        sa.Column("login", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("mail", sa.Text(), nullable=True),
        sa.Column("mail_key", sa.Text(), nullable=True),
        sa.Column("admin", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("tracker_user_id"),
    )
    op.create_index(op.f("ix_tracker_user_mail_key"), "tracker_user", ["mail_key"], unique=False)
    op.create_table(
        "user_map",
        sa.Column("helpdesk_user_id", KEY, autoincrement=False, nullable=False),
        sa.Column("tracker_user_id", KEY, nullable=False),
        sa.PrimaryKeyConstraint("helpdesk_user_id"),
    )


def downgrade() -> None:
    """Take this revision back."""
    op.drop_table("user_map")
    op.drop_index(op.f("ix_tracker_user_mail_key"), table_name="tracker_user")
    op.drop_table("tracker_user")
    op.drop_index(op.f("ix_trace_step_ticket_id"), table_name="trace_step")
    op.drop_index(op.f("ix_trace_step_at"), table_name="trace_step")
    op.drop_table("trace_step")
    op.drop_index("ix_ticket_state_due", table_name="ticket_state")
    op.drop_table("ticket_state")
    op.drop_index(
        "uq_ticket_issue_link_tracker_id",
        table_name="ticket_issue_link",
        sqlite_where=sa.text("state <> 'gone'"),
        postgresql_where=sa.text("state <> 'gone'"),
    )
    op.drop_index(op.f("ix_ticket_issue_link_settle_after"), table_name="ticket_issue_link")
    op.drop_index(op.f("ix_ticket_issue_link_fingerprint"), table_name="ticket_issue_link")
    op.drop_table("ticket_issue_link")
    op.drop_index(
        "uq_task_time_link_tracker_id",
        table_name="task_time_link",
        sqlite_where=sa.text("state <> 'gone'"),
        postgresql_where=sa.text("state <> 'gone'"),
    )
    op.drop_index(op.f("ix_task_time_link_ticket_id"), table_name="task_time_link")
    op.drop_index(op.f("ix_task_time_link_settle_after"), table_name="task_time_link")
    op.drop_index(op.f("ix_task_time_link_fingerprint"), table_name="task_time_link")
    op.drop_table("task_time_link")
    op.drop_table("project_link")
    op.drop_table("plugin_config")
    op.drop_table("membership_known")
    op.drop_index("ix_journal_ticket_id", table_name="journal")
    op.drop_index("ix_journal_state", table_name="journal")
    op.drop_index("ix_journal_key", table_name="journal")
    op.drop_table("journal")
    op.drop_table("entity_link")
