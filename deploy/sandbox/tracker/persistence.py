"""Saves the stand-in's data in a file, so that they survive a restart."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
from pathlib import Path
from typing import Any

from deploy.sandbox.tracker.sandbox import Sandbox
from deploy.sandbox.tracker.state import TABLES, Tracker

FORMAT = 1


class UnreadableStateError(Exception):
    """The state file is not one that this program wrote."""


def snapshot(tracker: Tracker) -> str:
    """Return all rows as a JSON document, which contains the administrator's key but no settings."""
    with tracker.lock:
        tables = {name: [_row(row) for row in getattr(tracker, name).values()] for name in TABLES}
        return json.dumps({"format": FORMAT, "last_ids": tracker.last_ids, "tables": tables})


def _row(row: Any) -> dict[str, Any]:
    names = (field.name for field in dataclasses.fields(row))
    return {name: getattr(row, name) for name in names if name != "committed"}


def restore(tracker: Tracker, path: Path) -> None:
    """Replace a tracker's rows with those in a file.

    Raises:
        UnreadableStateError: If the file cannot be read or has another format.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != FORMAT:
            raise ValueError("another format")
        for name, kind in TABLES.items():
            setattr(
                tracker,
                name,
                {row["id"]: kind(**row) for row in document["tables"].get(name, ())},
            )
        tracker.last_ids = dict(document["last_ids"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnreadableStateError(f"{path}: {error}") from None
    tracker.reindex()


class Saver:
    """Writes the state to a file at most once a second while it changes, and at the end."""

    def __init__(self, sandbox: Sandbox, path: Path) -> None:
        """Prepare to save; `start` starts the thread."""
        self._sandbox = sandbox
        self._path = path
        self._saved: tuple[int, int] | None = None
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="saver", daemon=True)

    def start(self) -> None:
        """Start saving in the background."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._thread.start()

    def stop(self) -> None:
        """Save pending changes and end."""
        self._ending.set()
        self._thread.join()
        self.save()

    def save(self) -> None:
        """Write the file if anything changed; it is replaced atomically, readable only by its owner."""
        tracker = self._sandbox.tracker
        version = (id(tracker), tracker.changes)
        if version == self._saved:
            return
        text = snapshot(tracker)
        partial = self._path.with_name(f"{self._path.name}.{os.getpid()}.tmp")
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self._path)
        self._saved = version

    def _run(self) -> None:
        while not self._ending.wait(1.0):
            self.save()
