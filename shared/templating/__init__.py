"""Payload templates (SPEC 9.1): JSON bodies with tags, rendered from a context of plain data.

What the rest of the program uses:

- `render`: `Engine(catalogue).render(body, context)` gives a `Rendering`; `Engine.check(body)` raises `TemplateError`
- `catalogue`: `catalogue_for(operation)`; the contexts `from_ticket`, `from_form` and `sample`
- `operations`: `Operation`, `OPERATIONS`, `CustomField`; `fields_for(operation)`
- `filters`: `FILTERS` and `CONDITIONS`, for display
- `reader`: `read(body)`, for code that searches a template for values
- `values`: the limits

In the order of its work: `reader` (JSON and positions), `grammar` (tags become a syntax tree), `expressions` (names are
checked once, values computed at each rendering), `render` (walks the tree), `checks` (the payload is completed).
"""
