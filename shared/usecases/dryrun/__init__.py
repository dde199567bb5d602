"""Dry runs of payload templates (SPEC 4.3): create on the tracker, delete, and say what the tracker's refusal means.

* `known`, `hints` and the modules of hints: what a refusal means, from the payload and the cache alone. Pure.
* `objects`: things that were made for a try: recorded before they are asked for, looked up by their mark, deleted.
* `run`: one dry run. `cleanup`: the sweep's part, for whatever a dry run left.
"""

from __future__ import annotations

from shared.usecases.dryrun.cleanup import clean_up
from shared.usecases.dryrun.hints import explain, hints
from shared.usecases.dryrun.known import Hint, Known, known_of
from shared.usecases.dryrun.results import DryRun, DryRunRefused, Left
from shared.usecases.dryrun.run import DryRuns

__all__ = [
    "DryRun",
    "DryRunRefused",
    "DryRuns",
    "Hint",
    "Known",
    "Left",
    "clean_up",
    "explain",
    "hints",
    "known_of",
]
