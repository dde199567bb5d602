"""All tables of the store, including those that a process does not use."""

from __future__ import annotations

from shared.store.tables import (  # noqa: F401 (an import registers its tables)
    configuration,
    journal,
    ledger,
    notifications,
)
from shared.store.tables.types import Base

TABLES = Base.metadata
