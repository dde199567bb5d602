"""The pages of the settings: which settings each has, and by which kind of field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, get_args, get_origin

from shared.events.config import SETTINGS, Page, PluginConfig

PATH = "/console/settings"
REDMINE: Page = "redmine"
"""The first page; it also has the metadata."""

PARTS: Mapping[str, tuple[str, ...]] = {
    page: tuple(name for name, one in SETTINGS.items() if one.page == page) for page in get_args(Page)
}
"""Each page, and the settings that its form has."""

TRIAL = f"{PATH}/behaviour#trial"
"""Where trial mode is switched, in a form of its own."""

Shape = Literal["text", "number", "box", "choice", "id", "ids", "words", "map"]
SHAPES: Mapping[object, Shape] = {
    bool: "box",
    Literal: "choice",
    tuple: "ids",
    dict: "map",
    Annotated: "id",
    int: "number",
}
"""The kind of field for a type; the first that is found."""


def shape_of(name: str) -> Shape:
    """Return by which kind of field a page shows a setting."""
    annotation = PluginConfig.model_fields[name].annotation
    if annotation == tuple[str, ...]:
        return "words"
    found = {get_origin(one) or one for one in (annotation, *get_args(annotation))}
    return next((shape for kind, shape in SHAPES.items() if kind in found), "text")


def row_of(name: str) -> str:
    """Return what the names of a map's fields begin with: `status.5` is the one for 5 in status_map."""
    return name.removesuffix("_map")


def page_of(part: str) -> str:
    """Return the address of one of the pages."""
    return PATH if part == REDMINE else f"{PATH}/{part}"


def setting(name: str) -> str:
    """Return the address of a setting's field."""
    return f"{page_of(SETTINGS[name].page if name in SETTINGS else REDMINE)}#{name}"
