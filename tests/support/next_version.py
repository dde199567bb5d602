"""The next version: it has one more migration, which only adds (expand)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from producer.admin.migrations import upgrading
from shared.store.tables import schema

TODAY = schema.HEAD
NEXT = f"{int(TODAY) + 1:04}"
REVISION = f'''
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "{NEXT}", "{TODAY}", None, None


def upgrade():
    op.create_table("something_new", sa.Column("id", sa.BigInteger(), primary_key=True))
    op.add_column("journal", sa.Column("added", sa.Text(), nullable=True))
    op.create_index("ix_journal_added", "journal", ["added"])


def downgrade():
    op.drop_index("ix_journal_added", "journal")
    op.drop_column("journal", "added")
    op.drop_table("something_new")
'''


def add_revision(migrations: Path) -> None:
    """Add the next revision to a copy of the migrations package."""
    (migrations / "versions" / f"{NEXT}_the_next.py").write_text(REVISION, encoding="utf-8")


@contextmanager
def as_next_version(directory: Path) -> Iterator[None]:
    """Make this process the next version during the block.

    Args:
        directory: directory for its migrations.
    """
    migrations = directory / "migrations"
    shutil.copytree(upgrading.SCRIPTS, migrations)
    add_revision(migrations)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(upgrading, "SCRIPTS", migrations)
        patch.setattr(schema, "HEAD", NEXT)
        yield
