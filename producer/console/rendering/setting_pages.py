"""The pages of the settings, and on which of them a setting is."""

from __future__ import annotations

from shared.metadata.confirming import OF_SPEC

PATH = "/console/settings"
REDMINE = "redmine"
"""The first page; it also has the metadata."""

PARTS = {
    REDMINE: ("base_url", "header_prefix", "verify_tls", "text_formatting"),
    "defaults": (*OF_SPEC, "default_watcher_ids"),
    "status-map": ("status_map",),
    "behaviour": (
        "done_state",
        "spent_on",
        "private_tasks",
        "sync_followups",
        "sync_solutions",
        "sync_documents",
        "document_max_mb",
        "document_refused_types",
        "in_doubt_policy",
        "membership_for",
        "match_administrators",
        "project_activities",
        "correct_authors",
        "template_role_ids",
    ),
}
"""Each page, and the settings that its form has."""


TRIAL = f"{PATH}/behaviour#trial"
"""Where trial mode is switched, in a form of its own."""


def page_of(part: str) -> str:
    """Return the address of one of the pages."""
    return PATH if part == REDMINE else f"{PATH}/{part}"


def setting(name: str) -> str:
    """Return the address of a setting's field."""
    part = next((part for part, names in PARTS.items() if name in names), REDMINE)
    return f"{page_of(part)}#{name}"
