"""Every table of the store, whichever of them a process works with."""

from __future__ import annotations

from shared.store.tables import configuration, journal, ledger  # noqa: F401 (an import registers its tables)
from shared.store.tables.types import Base

TABLES = Base.metadata
