"""Chooses the body to send (SPEC section 9): the active template's, or the 1.x body if it fails or there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shared.errors import TemplateError
from shared.events.payloads import Body
from shared.notices.notice import Notice
from shared.store.configuration.templates import ActiveTemplate
from shared.templating.catalogue import Context
from shared.templating.render import Engine


@dataclass(frozen=True, slots=True)
class RenderedBody:
    """The body to send, and where it came from.

    Attributes:
        template: the template that was rendered, or None for the 1.x body.
        warnings: the warnings of the rendering.
        fault: why the active template was not used, or None.
    """

    body: Body
    template: ActiveTemplate | None = None
    warnings: tuple[Notice, ...] = ()
    fault: TemplateError | None = None


def choose(
    template: ActiveTemplate | None,
    engine: Callable[[], Engine],
    context: Callable[[], Context],
    plain: Callable[[], Body],
) -> RenderedBody:
    """Return the body of an operation. A faulty template never prevents sending; the caller reports the fault.

    Args:
        template: the active template, or None.
        engine: returns the engine that renders it.
        context: returns the data that it is rendered from.
        plain: returns the 1.x body.
    """
    if template is None:
        return RenderedBody(plain())
    given = context()
    try:
        rendering = engine().render(template.body, given)
    except TemplateError as fault:
        return RenderedBody(plain(), fault=fault)
    return RenderedBody(rendering.payload, template, rendering.warnings)
