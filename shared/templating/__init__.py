"""Payload templates (SPEC 9.1): JSON bodies with tags, rendered from a context of plain data.

`Engine(catalogue).render(body, context)` gives a `Rendering`; `Engine.check(body)` raises a `TemplateError`.
"""
