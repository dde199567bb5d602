"""One dry run: create on the tracker as the administrator, delete again (SPEC 4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shared.store import Store
from shared.templating.operations import CustomField, Operation
from shared.usecases.dryrun.cleanup import SETTLING_S
from shared.usecases.dryrun.results import DryRun, Left
from shared.usecases.metadata import Connect


@dataclass(frozen=True)
class DryRuns:
    """Makes dry runs, and knows what they have left.

    Attributes:
        connect: returns the configuration and the tracker.
        settling: seconds after a lost answer before anything is concluded from it.
    """

    store: Store
    connect: Connect
    settling: float = SETTLING_S

    def run(
        self,
        operation: Operation,
        body: str,
        context: dict[str, Any],
        custom_fields: tuple[CustomField, ...],
    ) -> DryRun:
        """Render a template, make what it describes on the tracker, and delete it.

        Args:
            operation: what the template is for.
            body: the template.
            context: as `shared.templating.contexts` makes it; it is only read.
            custom_fields: the tracker's.

        Raises:
            TemplateError: the template is faulty; nothing was sent, or what was sent is cleaned up.
            DryRunRefused: it cannot be made, with the reason.
            TrackerError: the tracker could not be reached, or refuses the key.
            SettingsError: no tracker is configured.
        """
        raise NotImplementedError

    def left(self) -> list[Left]:
        """Return everything that dry runs asked for and that is not known to be gone, oldest first."""
        raise NotImplementedError
