"""Generated tables of the documentation: settings, metrics, alerts, events, templates, articles, decisions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeGuard, get_args

import yaml
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from deploy.site import ROOT
from deploy.site.markdown import code, link, prose, table
from producer.admin.knowledge.article import parse_article
from shared.events.config import PluginConfig
from shared.events.event import Event
from shared.process.settings import Settings
from shared.telemetry import metrics
from shared.templating.catalogue import catalogue_for, sample
from shared.templating.filters import CONDITIONS, FILTERS, Function
from shared.templating.operations import OPERATIONS
from shared.templating.render import Engine

RECORDS = "producer/admin/knowledge/records"
DECISIONS = "docs/contributing/decisions"
RULES = "deploy/monitoring/alerts.yml"
OURS_ALONE = ("incomplete",)
"""Fields of an event that only our own help desk adapters set."""


def settings() -> str:
    """Return every environment setting."""
    return table(("variable", "default", "meaning"), _fields(Settings, str.upper))


def plugin_config() -> str:
    """Return every Redmine setting."""
    return table(("key", "default", "meaning"), _fields(PluginConfig, str))


def _fields(model: type[BaseModel], called: Callable[[str], str]) -> Iterator[tuple[str, str, str]]:
    for name, field in model.model_fields.items():
        yield code(called(name)), _default(field), prose(field.description)


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if value is None or (value == () and "SecretStr" in str(field.annotation)):
        return "none"
    return code(value if isinstance(value, str) else json.dumps(value))


def metric_rows() -> str:
    """Return every metric with its labels and the processes that expose it."""
    return table(("metric", "labels", "process", "meaning"), _metrics())


def _metrics() -> Iterator[tuple[str, str, str, str]]:
    yield code(metrics.BUILD.name), ", ".join(metrics.BUILD.labels), "all", metrics.BUILD.documentation
    for one in (*metrics.INBOUND, *metrics.WORK):
        (family,) = one.describe()
        shown = ", ".join(process for process, all_of_it in metrics.BY_PROCESS.items() if one in all_of_it)
        total = "_total" if family.type == "counter" else ""
        yield code(family.name + total), ", ".join(one._labelnames), shown, family.documentation
    for looked in metrics.LOOKED_UP:
        shown = "worker" if looked is metrics.QUEUE_LENGTH else "worker, console"
        yield code(looked.name), ", ".join(looked.labels), shown, looked.documentation


def alerts() -> str:
    """Return every alert, with the article that explains what to do."""
    groups = yaml.safe_load((ROOT / RULES).read_text(encoding="utf-8"))["groups"]
    rows = (_alert(rule) for group in groups for rule in group["rules"])
    return table(("alert", "severity", "after", "summary", "description", "article"), rows)


def _alert(rule: dict[str, Any]) -> tuple[str, ...]:
    notes = rule["annotations"]
    record = notes["runbook_url"].rpartition("/")[2]
    summary = re.sub(r"\{\{ \$(?:labels\.)?(\w+)[^}]* \}\}", r"*\1*", notes["summary"])
    return (
        code(rule["alert"]),
        rule["labels"]["severity"],
        rule.get("for", ""),
        summary,
        notes["description"],
        link(f"{RECORDS}/{record}.md", record),
    )


def records() -> str:
    """Return every knowledge article with its title."""
    return table(("article", "message"), _records())


def _records() -> Iterator[tuple[str, object]]:
    for path in sorted((ROOT / RECORDS).glob("KB-*.md")):
        record = parse_article(path.read_text(encoding="utf-8"))
        yield link(f"{RECORDS}/{path.name}", path.stem), record.metadata["title"]


def decisions() -> str:
    """Return every decision."""
    return "\n".join(
        f"- {link(f'{DECISIONS}/{path.name}', path.read_text(encoding='utf-8').splitlines()[0].removeprefix('# '))}"
        for path in sorted((ROOT / DECISIONS).glob("0*.md"))
    )


def event() -> str:
    """Return the fields of an event."""
    return table(("field", "type", "", "meaning"), _event(Event, ""))


def _event(model: type[BaseModel], before: str) -> Iterator[tuple[str, str, str, str]]:
    for name, field in model.model_fields.items():
        if name in OURS_ALONE:
            continue
        parts = get_args(field.annotation) or (field.annotation,)
        inner = next((one for one in parts if _is_model(one)), None)
        of_list = next((one for part in parts for one in get_args(part) if _is_model(one)), None)
        kind = "object" if inner else "list of objects" if of_list else _kind(field.annotation)
        needed = "required" if field.is_required() else ""
        yield code(before + name), kind, needed, prose(field.description)
        if inner:
            yield from _event(inner, f"{before}{name}.")
        if of_list:
            yield from _event(of_list, f"{before}{name}[].")


def _is_model(part: object) -> TypeGuard[type[BaseModel]]:
    return isinstance(part, type) and issubclass(part, BaseModel)


def _kind(annotation: object) -> str:
    described = str(annotation)
    kinds = {
        "list[str]": "list of texts",
        "list": "list of integers",
        "bool": "true or false",
        "int": "integer",
    }
    return next((kind for name, kind in kinds.items() if name in described), "text")


def operations() -> str:
    """Return the operations that can have templates."""
    rows = (
        (code(one.value), code(one.top_key), "the project form" if one.from_form else "a ticket's event")
        for one in OPERATIONS
    )
    return table(("operation", "top key", "starts from"), rows)


def filters() -> str:
    """Return every filter with an example and its result."""
    rows = ((code(_signature(one)), one.summary, code(one.example), code(_gives(one))) for one in FILTERS)
    return table(("filter", "does", "example", "gives"), rows)


def conditions() -> str:
    """Return every condition with an example."""
    rows = ((code(_signature(one)), one.summary, code(one.example)) for one in CONDITIONS)
    return table(("condition", "holds when", "example"), rows)


def _signature(function: Function) -> str:
    names = [part.name if part.required else f"[{part.name}]" for part in function.parameters]
    colon = ":" if names and function in FILTERS else ""
    return " ".join((function.name + colon, *names))


def _gives(one: Function) -> str:
    body = json.dumps({"issue": {"subject": "s", "x": one.example}})
    payload = Engine(catalogue_for("issue.create")).render(body, sample(OPERATIONS[0])).payload
    return json.dumps(payload["issue"].get("x"), ensure_ascii=False)


def ticket_variables() -> str:
    """Return the variables of templates about tickets."""
    return _variables(from_form=False)


def form_variables() -> str:
    """Return the variables of project form templates, without the Redmine settings."""
    return _variables(from_form=True)


def _variables(*, from_form: bool) -> str:
    found = {
        variable.path: variable
        for one in OPERATIONS
        if one.from_form is from_form
        for variable in catalogue_for(one).variables
        if variable.path.startswith("form.") or not from_form
    }
    rows = (
        (
            code(one.path),
            one.type + (" or null" if one.optional else ""),
            one.description,
            code(json.dumps(one.sample, ensure_ascii=False)) if one.sample is not None else "",
        )
        for one in found.values()
    )
    return table(("variable", "type", "is", "sample"), rows)
