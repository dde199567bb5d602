"""The first schema.

Later revisions only add to it (expand); what is no longer used is removed one version later (contract).
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

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
        "api_token",
        sa.Column("id", KEY, nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("right", sa.String(length=16), nullable=False),
        sa.Column("owner_id", KEY, nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("digest"),
        sa.UniqueConstraint("name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "basis",
        sa.Column("id", KEY, autoincrement=False, nullable=False),
        sa.Column("changes", KEY, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "change_record",
        sa.Column("id", KEY, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=False),
        sa.Column("params", sa.Text(), nullable=False),
        sa.Column("before", sa.Text(), nullable=True),
        sa.Column("after", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_change_record_at", "change_record", ["at"], unique=False)
    op.create_table(
        "console_account",
        sa.Column("id", KEY, nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("right", sa.String(length=16), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "console_session",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("account_id", KEY, nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_index("ix_console_session_account_id", "console_session", ["account_id"], unique=False)
    op.create_table(
        "console_sign_in_link",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("account_id", KEY, nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_table(
        "dry_run_object",
        sa.Column("id", KEY, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("mark", sa.String(length=64), nullable=False),
        sa.Column("tracker_project_id", KEY, nullable=True),
        sa.Column("tracker_id", KEY, nullable=True),
        sa.Column("begun_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attempts", KEY, nullable=False),
        sa.Column("next_attempt_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=True),
        sa.Column("params", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "entity_link",
        sa.Column("entity_id", KEY, autoincrement=False, nullable=False),
        sa.Column("tracker_project_id", KEY, nullable=False),
        sa.Column("default_category_id", KEY, nullable=True),
        sa.PrimaryKeyConstraint("entity_id"),
    )
    op.create_table(
        "helpdesk_user",
        sa.Column("helpdesk_user_id", KEY, autoincrement=False, nullable=False),
        sa.Column("email", sa.Text(), nullable=True),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("helpdesk_user_id"),
    )
    installation = op.create_table(
        "installation",
        sa.Column("id", KEY, autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id"),
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
        sa.Column("attempts", KEY, nullable=False),
        sa.Column("next_attempt_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("completion", sa.Text(), nullable=True),
        sa.Column("traceparent", sa.String(length=55), nullable=True),
        sa.Column("code", sa.String(length=64), nullable=True),
        sa.Column("params", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("delivery_id", "digest", name="uq_journal_delivery"),
        sqlite_autoincrement=True,
    )
    _partial_index("ix_journal_ended_at", "journal", ["ended_at"], "ended_at IS NOT NULL")
    op.create_index("ix_journal_event", "journal", ["event", "id"], unique=False)
    op.create_index("ix_journal_key", "journal", ["key"], unique=False)
    op.create_index("ix_journal_received_at", "journal", ["received_at"], unique=False)
    op.create_index("ix_journal_state", "journal", ["state", "next_attempt_at"], unique=False)
    op.create_index("ix_journal_ticket_id", "journal", ["ticket_id", "state"], unique=False)
    op.create_table(
        "membership_known",
        sa.Column("tracker_project_id", KEY, autoincrement=False, nullable=False),
        sa.Column("tracker_user_id", KEY, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("tracker_project_id", "tracker_user_id"),
    )
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
        sa.Column("code", sa.String(length=64), nullable=True),
        sa.Column("params", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "misattributed",
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("key", KEY, autoincrement=False, nullable=False),
        sa.Column("ticket_id", KEY, nullable=False),
        sa.Column("tracker_id", KEY, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=True),
        sa.Column("params", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("kind", "key"),
    )
    op.create_index("ix_misattributed_at", "misattributed", ["at", "kind", "key"], unique=False)
    op.create_table(
        "notification",
        sa.Column("id", KEY, autoincrement=False, nullable=False),
        sa.Column("urls_encrypted", sa.Text(), nullable=False),
        sa.Column("services", sa.Text(), nullable=False),
        sa.Column("console_url", sa.Text(), nullable=True),
        sa.Column("looked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "notification_cause",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("count", KEY, nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
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
    _partial_index(
        "uq_payload_template_active",
        "payload_template",
        ["operation"],
        "active_version IS NOT NULL",
        unique=True,
    )
    op.create_table(
        "payload_template_change",
        sa.Column("id", KEY, nullable=False),
        sa.Column("template_id", KEY, nullable=False),
        sa.Column("version", KEY, nullable=False),
        sa.Column("what", sa.String(length=16), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_payload_template_change_template", "payload_template_change", ["template_id"], unique=False
    )
    op.create_table(
        "payload_template_version",
        sa.Column("template_id", KEY, autoincrement=False, nullable=False),
        sa.Column("version", KEY, autoincrement=False, nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("template_id", "version"),
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
        "producer_sign",
        sa.Column("name", sa.String(length=300), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("process", sa.Text(), nullable=False),
        sa.Column("refused", sa.Text(), nullable=False),
        sa.Column("spools", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
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
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=True),
        sa.Column("params", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("identifier"),
    )
    op.create_table(
        "project_link",
        sa.Column("helpdesk_project_id", KEY, autoincrement=False, nullable=False),
        sa.Column("tracker_project_id", KEY, nullable=False),
        sa.Column("default_category_id", KEY, nullable=True),
        sa.PrimaryKeyConstraint("helpdesk_project_id"),
    )
    op.create_table(
        "reconciliation_mark",
        sa.Column("id", KEY, autoincrement=False, nullable=False),
        sa.Column("read_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ran_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("missing", KEY, nullable=False),
        sa.Column("hours_since", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "recovery",
        sa.Column("id", KEY, autoincrement=False, nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    _create_ledger("task_time_link", "task_id", sa.Column("ticket_id", KEY, nullable=False))
    op.create_index("ix_task_time_link_ticket_id", "task_time_link", ["ticket_id"], unique=False)
    op.create_table(
        "ticket_deletion",
        sa.Column("ticket_id", KEY, autoincrement=False, nullable=False),
        sa.Column("event_id", KEY, nullable=False),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sequence", KEY, nullable=False),
        sa.Column("is_deleted", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("ticket_id"),
    )
    _create_ledger("ticket_issue_link", "ticket_id")
    op.create_table(
        "ticket_state",
        sa.Column("ticket_id", KEY, autoincrement=False, nullable=False),
        sa.Column("event_id", KEY, nullable=False),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sequence", KEY, nullable=False),
        sa.Column("status", KEY, nullable=False),
        sa.Column("snapshot", sa.Text(), nullable=False),
        sa.Column("given_event_id", KEY, nullable=True),
        sa.Column("given_status_id", KEY, nullable=True),
        sa.Column("status_due", sa.Boolean(), nullable=False),
        sa.Column("status_attempts", KEY, nullable=False),
        sa.Column("status_next_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("status_dropped", sa.Boolean(), nullable=True),
        sa.Column("status_code", sa.String(length=64), nullable=True),
        sa.Column("status_params", sa.Text(), nullable=True),
        sa.Column("mapped_status", KEY, nullable=True),
        sa.Column("mapped_event_id", KEY, nullable=True),
        sa.Column("fields_due", sa.Text(), nullable=True),
        sa.Column("fields_kept", sa.Text(), nullable=True),
        sa.Column("fields_attempts", KEY, nullable=True),
        sa.Column("fields_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("unlinked_place", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("ticket_id"),
    )
    op.create_index("ix_ticket_state_due", "ticket_state", ["status_due", "status_next_at"], unique=False)
    _partial_index("ix_ticket_state_fields_due", "ticket_state", ["ticket_id"], "fields_due IS NOT NULL")
    _partial_index("ix_ticket_state_fields_kept", "ticket_state", ["ticket_id"], "fields_kept IS NOT NULL")
    op.create_index("ix_ticket_state_status", "ticket_state", ["status"], unique=False)
    _partial_index("ix_ticket_state_status_dropped", "ticket_state", ["ticket_id"], "status_dropped")
    op.create_table(
        "trace_step",
        sa.Column("id", KEY, nullable=False),
        sa.Column("ticket_id", KEY, nullable=False),
        sa.Column("task_id", KEY, nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=False),
        sa.Column("params", sa.Text(), nullable=False),
        sa.Column("call", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_trace_step_at", "trace_step", ["at"], unique=False)
    op.create_index("ix_trace_step_ticket_id", "trace_step", ["ticket_id"], unique=False)
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
    op.create_index("ix_tracker_user_mail_key", "tracker_user", ["mail_key"], unique=False)
    op.create_table(
        "user_map",
        sa.Column("helpdesk_user_id", KEY, autoincrement=False, nullable=False),
        sa.Column("tracker_user_id", KEY, nullable=False),
        sa.PrimaryKeyConstraint("helpdesk_user_id"),
    )
    op.create_index("ix_user_map_tracker_user_id", "user_map", ["tracker_user_id"], unique=False)
    op.create_table(
        "user_pin",
        sa.Column("helpdesk_user_id", KEY, autoincrement=False, nullable=False),
        sa.Column("tracker_user_id", KEY, nullable=False),
        sa.Column("pinned_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("confirmed_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("helpdesk_user_id"),
    )
    op.create_index("ix_user_pin_tracker_user_id", "user_pin", ["tracker_user_id"], unique=False)
    op.bulk_insert(installation, [{"id": 1, "name": uuid4().hex[:12]}])
    # SQLite has no roles: a process that can append a row can do anything else, too
    if op.get_bind().dialect.name == "postgresql":
        for name, condition in CHECKS.items():
            op.execute(f"ALTER TABLE journal ADD CONSTRAINT {name} CHECK ({condition})")


def downgrade() -> None:
    """Revert this revision."""
    for table in TABLES:
        op.drop_table(table)


def _create_ledger(table: str, key: str, *columns: sa.Column[Any]) -> None:
    """Create a ledger table; the ledgers have the same columns."""
    op.create_table(
        table,
        sa.Column(key, KEY, autoincrement=False, nullable=False),
        *columns,
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
        sa.Column("unclear", sa.Integer(), nullable=True),
        sa.Column("earlier", sa.Text(), nullable=True),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=True),
        sa.Column("params", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint(key),
    )
    op.create_index(f"ix_{table}_fingerprint", table, ["fingerprint"], unique=False)
    _partial_index(f"ix_{table}_open", table, ["state"], "state <> 'linked'")
    _partial_index(f"uq_{table}_tracker_id", table, ["tracker_id"], "state <> 'gone'", unique=True)


def _partial_index(name: str, table: str, columns: list[str], where: str, *, unique: bool = False) -> None:
    """Create a partial index, on both databases."""
    condition = sa.text(where)
    op.create_index(name, table, columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


CHECKS = {
    "ck_journal_key": (
        "key = CASE WHEN event = 'unreadable' THEN 'unreadable' WHEN task_id IS NULL THEN 'ticket:' || ticket_id "
        "ELSE 'ticket-task:' || task_id END"
    ),
    "ck_journal_times": (
        "occurred_at >= '1969-12-31' AND occurred_at < '2200-01-01' "
        "AND received_at >= '1969-12-31' AND received_at < '2200-01-01'"
    ),
    "ck_journal_payload": "octet_length(payload) <= 4194304",
    "ck_journal_attempts": "attempts >= 0",
}

TABLES = (
    "api_token",
    "basis",
    "change_record",
    "console_account",
    "console_session",
    "console_sign_in_link",
    "dry_run_object",
    "entity_link",
    "helpdesk_user",
    "installation",
    "journal",
    "membership_known",
    "metadata_row",
    "metadata_run",
    "misattributed",
    "notification",
    "notification_cause",
    "payload_template",
    "payload_template_change",
    "payload_template_version",
    "plugin_config",
    "producer_sign",
    "project_claim",
    "project_link",
    "reconciliation_mark",
    "recovery",
    "task_time_link",
    "ticket_deletion",
    "ticket_issue_link",
    "ticket_state",
    "trace_step",
    "tracker_user",
    "user_map",
    "user_pin",
)
