"""Every table of the store, whichever of them a process works with."""

from __future__ import annotations

from shared.store.tables import (  # noqa: F401 (an import registers its tables)
    configuration,
    journal,
    ledger,
    notifications,
)
from shared.store.tables.types import Base

TABLES = Base.metadata
