"""The cached Redmine metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from producer.cli.output import console, print_json, say
from producer.cli.register import METADATA, Json, command
from producer.cli.services import open_services
from shared.errors import BridgeError

if TYPE_CHECKING:
    from shared.metadata.reading import Progress
    from shared.metadata.synchronisation import Differences

SLOW_S = 2.0
MOST_NAMED = 20


class NotSynchronised(BridgeError):
    """Redmine could not be read completely; the cache did not change."""


@command(METADATA, "sync", "deskbridge metadata sync", "deskbridge metadata sync --json", was="sync-metadata")
def sync(as_json: Json = False) -> None:
    """Refresh the Redmine metadata and show what changed.

    The metadata are the users, projects, trackers, statuses and so on. If a part cannot be read, the cache does not
    change, and the command exits with 1.
    """
    from producer.admin.configuration.metadata import read_now

    with open_services() as services:
        result = read_now(services, None if as_json else _progress())
    if result.why is not None:
        raise NotSynchronised(result.why)
    if as_json:
        print_json(result.as_json())
        return
    for name, differences in result.parts.items():
        _tell(name.replace("_", " "), differences)


def _tell(noun: str, differences: Differences) -> None:
    parts = [("added", differences.added), ("changed", differences.changed), ("removed", differences.removed)]
    told = ", ".join(f"{len(names)} {word}" for word, names in parts if names) or "no change"
    say(f"{differences.total} {noun}: {told}")
    for word, names in parts:
        if names:
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            say(f"  {word}: {', '.join(names[:MOST_NAMED])}{more}")


def _progress() -> Progress:
    """Return a function that shows the progress of a long run on a terminal."""
    import time

    err, told = console(stderr=True), time.monotonic()

    def tell(what: str, so_far: int, total: int) -> None:
        nonlocal told
        if err.is_terminal and time.monotonic() - told > SLOW_S:
            err.print(f"{what}: {so_far} of {total}", style="dim")
            told = time.monotonic()

    return tell
