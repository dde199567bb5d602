"""What the command line's --json and the API show of templates: one shape for both."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from producer.admin.showing.shapes import reason_json, warnings_json
from shared.notices.notice import notice_json
from shared.notices.render import sentence

if TYPE_CHECKING:
    from producer.admin.dryrun.results import DryRun, Left
    from producer.admin.templates.preview import Preview
    from producer.admin.templates.templates import Described
    from shared.errors import TemplateError
    from shared.store.tables.configuration import TemplateChange
    from shared.templating.catalogue import Variable
    from shared.templating.operations import Field

Shape = dict[str, Any]


def template_json(found: Described) -> Shape:
    plain = {each.name: getattr(found, each.name) for each in fields(found)}
    return {**plain, "operation": str(found.operation), "fault": fault_json(found.fault)}


def fault_json(fault: TemplateError | None) -> Shape | None:
    """Return what is wrong with a template, and where."""
    return (
        {**notice_json(fault.notice), "message": fault.message, "line": fault.line, "column": fault.column}
        if fault
        else None
    )


def change_json(change: TemplateChange) -> Shape:
    """Return an entry of a template's history."""
    return {name: getattr(change, name) for name in ("version", "what", "at", "who")}


def variable_json(variable: Variable) -> Shape:
    return asdict(variable)


def field_json(field: Field) -> Shape:
    return asdict(field)


def preview_json(shown: Preview) -> Shape:
    plain = {each.name: getattr(shown, each.name) for each in fields(shown)}
    return {**plain, "operation": str(shown.operation), **warnings_json(shown.warnings)}


def dry_run_json(made: DryRun) -> Shape:
    """Return what a dry run did; the tracker's answer unchanged."""
    hints = [
        {"field": one.field, **notice_json(one.why), "problem": sentence(one.why), "record": one.record}
        for one in made.hints
    ]
    plain = {each.name: getattr(made, each.name) for each in fields(made)}
    left = [left_json(one) for one in made.left]
    return {**plain, "hints": hints, "left": left, **warnings_json(made.warnings)}


def left_json(left: Left) -> Shape:
    """Return something that a dry run left on the tracker."""
    plain = {each.name: getattr(left, each.name) for each in fields(left) if each.name != "why"}
    return {**plain, **reason_json(left.why)}
