"""How a setting is displayed and checked, besides its type and default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Page = Literal["redmine", "defaults", "status-map", "behaviour"]
"""The pages of the settings, in the order of their tabs."""
Kind = Literal["issue_type", "status", "priority", "activity", "role", "user"]
"""Kinds of ids that a setting can contain: users, and kinds of the metadata cache."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Display and checks of a field of `PluginConfig`, besides its type, default and description.

    Attributes:
        page: the settings page that contains it.
        label: its name on that page.
        hint: the hint on that page.
        kind: the kind of the ids that it contains.
        confirmed: whether only ids that exist in Redmine are accepted.
        empty: the text on the page if it has no value, or if there is nothing to choose from.
        choices: the values to choose from, with their names.
        explained: values with their explanations on the page.
        keys: the GLPI numbers that it maps, with their names.
        row: the name of the field for one of these numbers.
    """

    page: Page
    label: str
    hint: str = ""
    kind: Kind | None = None
    confirmed: bool = True
    empty: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)
    explained: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[int, str] = field(default_factory=dict)
    row: str = ""
