"""Payload templates (SPEC 9.1): JSON bodies with tags, rendered from a context of plain data.

`Engine(catalogue).render(body, context)` gives a `Rendering`; `Engine.check(body)` raises a `TemplateError`.
"""

from __future__ import annotations

from shared.templating.catalogue import Catalogue, catalogue_for
from shared.templating.engine import Engine, Rendering
from shared.templating.operations import OPERATIONS, Operation

__all__ = ["OPERATIONS", "Catalogue", "Engine", "Operation", "Rendering", "catalogue_for"]
