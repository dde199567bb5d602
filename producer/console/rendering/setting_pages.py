"""The pages of the settings, and the kind of form field for each setting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, get_args, get_origin

from shared.events.config import SETTINGS, PluginConfig
from shared.events.setting import Page

PATH = "/console/settings"
REDMINE: Page = "redmine"
"""The first page; it also has the metadata."""

PARTS: Mapping[str, tuple[str, ...]] = {
    page: tuple(name for name, one in SETTINGS.items() if one.page == page) for page in get_args(Page)
}
"""Each page and the settings in its form."""

TRIAL = f"{PATH}/behaviour#trial"
"""Address of the form that switches trial mode."""

Shape = Literal["text", "number", "box", "choice", "id", "ids", "words", "map"]
SHAPES: Mapping[object, Shape] = {
    bool: "box",
    Literal: "choice",
    tuple: "ids",
    dict: "map",
    Annotated: "id",
    int: "number",
}
"""The kind of form field for a type; the first match applies."""


def shape_of(name: str) -> Shape:
    """Return the kind of form field for a setting."""
    annotation = PluginConfig.model_fields[name].annotation
    if annotation == tuple[str, ...]:
        return "words"
    found = {get_origin(one) or one for one in (annotation, *get_args(annotation))}
    return next((shape for kind, shape in SHAPES.items() if kind in found), "text")


def row_of(name: str) -> str:
    """Return the prefix of a map's field names: `status.5` is the field for key 5 of status_map."""
    return name.removesuffix("_map")


def page_of(part: str) -> str:
    """Return the address of a settings page."""
    return PATH if part == REDMINE else f"{PATH}/{part}"


def setting(name: str) -> str:
    """Return the address of a setting's field."""
    return f"{page_of(SETTINGS[name].page if name in SETTINGS else REDMINE)}#{name}"
