"""The request that maps a help desk project or entity, shared by command, API and page."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from producer.admin.projects.project_forms import ProjectForm
from producer.admin.projects.projects import Made, ProjectForms
from shared.errors import BridgeError, NotFound
from shared.notices.access import AccessRefusal
from shared.store.configuration.mappings import MappingKind, ProjectMapping
from shared.values.validation import StrictId


class LinkRefused(BridgeError):
    """A mapping that cannot be added as requested; nothing was changed."""


class LinkForm(BaseModel):
    """A mapping to an existing or a new Redmine project."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    tracker_project_id: StrictId | None = Field(default=None, description="Id of an active Redmine project.")
    create: dict[str, Any] | None = Field(
        default=None,
        description="Create this project: name, description, is_public, identifier, parent_id, enabled_module_names, "
        "custom_field_values (SPEC 2.3).",
    )
    default_category_id: StrictId | None = Field(
        default=None,
        description="Category of new issues. If omitted, a stored category stays; null removes it.",
    )
    replay: bool = Field(
        default=False, description="Also send events that were skipped because this mapping was missing."
    )

    def carry_out(self, forms: ProjectForms, kind: MappingKind, helpdesk_id: int) -> Made:
        """Add the mapping.

        Args:
            forms: adds mappings and creates projects.
            kind: whether a help desk project or an entity is mapped.
            helpdesk_id: its id.

        Raises:
            LinkRefused: if the project or its category is unknown, or not exactly one of project and form is given.
            FormRefused, ProjectInDoubt, LockBusy, TrackerError: as `ProjectForms.create`.
        """
        if (self.create is None) == (self.tracker_project_id is None):
            raise LinkRefused(AccessRefusal.PROJECT_OR_CREATE())
        keep_category = "default_category_id" not in self.model_fields_set
        if self.create is not None:
            return forms.create(
                kind,
                helpdesk_id,
                ProjectForm.of(self.create),
                category=self.default_category_id,
                keep_category=keep_category,
                replay=self.replay,
            )
        link = ProjectMapping(kind, helpdesk_id, self.tracker_project_id or 0, self.default_category_id)
        try:
            return forms.link(link, replay=self.replay, keep_category=keep_category)
        except NotFound as unknown:
            raise LinkRefused(unknown.notice) from None
