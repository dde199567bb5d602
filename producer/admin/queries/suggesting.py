"""Suggests a Redmine status for each GLPI status, by name. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from shared.store.configuration.metadata import Entry

CLOSED = 6
NAMES: dict[int, tuple[str, ...]] = {
    1: ("new", "open", "nouveau", "nouvelle", "ouvert", "neu", "offen"),
    2: ("in progress", "assigned", "en cours", "assigné", "in bearbeitung", "zugewiesen"),
    3: ("planned", "scheduled", "planifié", "geplant", "in progress", "en cours", "in bearbeitung"),
    4: ("pending", "on hold", "waiting", "feedback", "en attente", "commentaire", "wartend"),
    5: ("resolved", "solved", "résolu", "résolue", "gelöst", "erledigt"),
    CLOSED: ("closed", "fermé", "fermée", "clos", "geschlossen"),
}
"""Names for each GLPI status in English, French and German, the best first."""


def suggested_map(statuses: Sequence[Entry]) -> dict[int, int]:
    """Return the Redmine status for each GLPI status, by name; for closed also the only closed status.

    Args:
        statuses: Redmine's, in its own order.
    """
    by_name = {one.name.strip().casefold(): one.tracker_id for one in reversed(statuses)}
    found = {}
    for status, names in NAMES.items():
        known = next((by_name[name] for name in names if name in by_name), None)
        if known is not None:
            found[status] = known
    closed = [one.tracker_id for one in statuses if one.details.get("is_closed")]
    if len(closed) == 1:
        found.setdefault(CLOSED, closed[0])
    return found
