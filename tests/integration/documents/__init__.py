"""A deskbridge that sends documents, with its GLPI."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deploy.sandbox.tracker.control import StandIn
from shared.helpdesk.glpi import GlpiLookup
from tests.support.bridge import Bridge
from tests.support.glpi_api import GlpiApi

CONTENT = b"\x89PNG of the toner"
SIZE = len(CONTENT)


@contextmanager
def documents_bridge(
    api: GlpiApi, stand_in: StandIn, redis_url: str, directory: Path, **settings: Any
) -> Iterator[Bridge]:
    """Yield a bridge that sends all notes and documents."""
    made = Bridge(
        f"sqlite:///{directory}/bridge.sqlite3",
        redis_url,
        stand_in.base_url,
        stand_in.api_key,
        lookup=GlpiLookup(api.access),
        **settings,
    )
    made.configure(sync_followups="all", sync_solutions="on", sync_documents="on")
    api.documents |= dict.fromkeys(range(90, 100), CONTENT)
    try:
        yield made
    finally:
        made.close()
