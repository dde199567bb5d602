"""The settings: the tracker, defaults of new issues and time entries, and the metadata."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from fastapi import Request
from redis.exceptions import RedisError
from starlette.responses import Response

from producer.admin.configuration import configuration, trial
from producer.admin.configuration.connecting import Tested, sealed_key, try_connection, unsealed_key
from producer.admin.configuration.metadata import begin_reading, cached
from producer.console.auth.answers import WithServices
from producer.console.auth.once import FlashMessage, forget, hand_over, handed_over
from producer.console.auth.visitors import Fields
from producer.console.pages.parts import Form, go, go_back, page_router, show
from producer.console.rendering.addresses import way_back
from producer.console.rendering.setting_pages import PARTS, PATH, REDMINE, TRIAL, page_of, row_of, shape_of
from shared.errors import SettingsError
from shared.events.config import HELPDESK_STATUSES, SETTINGS, PluginConfig
from shared.metadata.synchronisation import under_way
from shared.notices.language import said
from shared.notices.render import sentence
from shared.store.configuration.metadata import MetadataKind
from shared.values.ids import read_id

router = page_router()
WARNINGS = "warnings"
SHOWN = 50
"""Maximum number of issues that are listed before their status is changed."""

SOON_S = 2.0
"""How long a request waits for a metadata run before the page shows its progress."""

CONNECTION = ("base_url", "header_prefix", "verify_tls")
"""The settings that a connection test uses."""


@router.get("/settings")
def settings(request: Request, services: WithServices) -> Response:
    """Show the settings, and once the warnings about the last save."""
    told = handed_over(request)
    if told is None or told.kind != WARNINGS:
        return _show(request, services)
    response = _show(request, services, warnings=[str(one) for one in json.loads(told.text)])
    forget(request, response, PATH)
    return response


@router.get("/settings/defaults")
@router.get("/settings/status-map")
@router.get("/settings/behaviour")
def further_settings(request: Request, services: WithServices) -> Response:
    """Show another page of the settings."""
    return settings(request, services)


@router.post("/settings")
def save(request: Request, services: WithServices, form: Form) -> Response:
    """Save the changed settings; a form with faults is shown again with every typed value."""
    before, path = configuration.current(services.store), page_of(_part(request, form))
    typed = _typed(form, before)
    key = form.text("api_key") or _tested_key(services, form)
    if form.text("seen") != _seen(before):
        sealed = _sealed(services, typed["base_url"], key)
        return _show(request, services, form=form, status=409, faults={"": "stale"}, sealed=sealed)
    changed = {name: text for name, text in typed.items() if text != _as_typed(before, name)}
    try:
        if not changed and not key:
            return go_back(request, path, "unchanged")
        done = configuration.save(services, changed, api_key=key or None, moved=form.has("moved"))
    except SettingsError as wrong:
        sealed = _sealed(services, typed["base_url"], key)
        return _show(request, services, form=form, status=422, faults=_faults(wrong), sealed=sealed)
    if done.owed:
        response = go(f"{PATH}/statuses", "saved", back=way_back(request.query_params.get("back")))
    else:
        response = go(path, "saved") if done.warnings else go_back(request, path, "saved")
    if done.warnings:
        text = json.dumps([sentence(one) for one in done.warnings])
        hand_over(request, response, FlashMessage(WARNINGS, "", text), PATH)
    return response


@router.get("/settings/statuses")
def owed_statuses(request: Request, services: WithServices) -> Response:
    """List the issues whose status differs from the map, before any of them is changed."""
    owed = configuration.owed_statuses(services.store, SHOWN)
    if not owed.count:
        return go_back(request, PATH, request.query_params.get("did", ""))
    base_url = configuration.current(services.store).base_url
    return show(request, "statuses", owed=owed, base_url=base_url, names=HELPDESK_STATUSES)


@router.post("/settings/statuses")
def give_statuses(request: Request, services: WithServices) -> Response:
    """Set the mapped status on the issues that have a different one."""
    configuration.give_statuses(services)
    return go_back(request, PATH, "given")


@router.post("/settings/trial")
def switch_trial(services: WithServices, form: Form) -> Response:
    """Switch trial mode on, or off and send or drop the waiting events."""
    wanted = form.text("trial")
    if wanted == "on":
        trial.begin(services.store)
    elif wanted in ("send", "drop"):
        trial.end(services, drops=wanted == "drop")
    else:
        return go(TRIAL, "unchanged")
    return go(TRIAL, f"trial-{wanted}")


@router.post("/settings/test")
def test(request: Request, services: WithServices, form: Form) -> Response:
    """Test the connection with the typed values, saved or not."""
    before = configuration.current(services.store)
    try:
        typed = _typed(form, before)
        wanted = before.changed({name: typed[name] for name in CONNECTION})
        key = form.text("api_key") or _tested_key(services, form)
        tested = try_connection(services, wanted, key)
    except SettingsError as wrong:
        return _show(request, services, form=form, status=422, faults=_faults(wrong))
    return _show(request, services, form=form, tested=tested, sealed=_sealed(services, wanted.base_url, key))


@router.post("/settings/metadata")
def metadata(request: Request, services: WithServices) -> Response:
    """Read the tracker's metadata now; a long run continues in the background, and the page shows its progress."""
    result = begin_reading(services, SOON_S)
    if result is None or result.busy:
        return go(f"{PATH}#metadata", "reading")
    if result:
        return go(f"{PATH}#metadata", "read")
    return _show(request, services, status=502, faults={"metadata": str(result.error)})


def _show(
    request: Request,
    services: WithServices,
    *,
    form: Fields | None = None,
    status: int = 200,
    faults: dict[str, str] | None = None,
    tested: Tested | None = None,
    sealed: str = "",
    warnings: Sequence[str] = (),
) -> Response:
    # first: if a run has ended by now, the reads below see its result
    try:
        reading = under_way(services.locks) if request.method == "GET" else None
    except RedisError:
        reading = None
    config, choices = configuration.current(services.store), configuration.choices(services.store)
    known = cached(services.store)
    values = (
        _typed(form, config)
        if form
        else {name: _as_typed(config, name) for name in PluginConfig.model_fields}
    )
    part = _part(request, form)
    return show(
        request,
        "settings",
        status=status,
        part=part,
        config=config,
        settings=SETTINGS,
        names=PARTS[part],
        connection=CONNECTION,
        shape_of=shape_of,
        row_of=row_of,
        labels={name: said(one.label) for name, one in SETTINGS.items()}
        | {"api_key": said("API key"), "metadata": said("Metadata")},
        values=values,
        held={
            name: json.loads(values[name]) for name in SETTINGS if shape_of(name) in ("ids", "words", "map")
        },
        options={name: _options(name, choices) for name in SETTINGS},
        rows={name: _rows(name, config, choices) for name, one in SETTINGS.items() if one.keys},
        seen_statuses=choices.statuses_seen,
        has_key=choices.has_key,
        parts_of=known.counts,
        runs=known.runs[:5],
        reading=reading,
        trial=trial.standing(services.store),
        faults=faults or {},
        tested=tested,
        sealed=sealed,
        warnings=warnings,
        is_typed=form is not None,
        seen=_seen(config),
    )


def _options(name: str, choices: configuration.Choices) -> list[tuple[str | int, str]]:
    """Return the choices of a setting, as (value, label)."""
    setting, closed = SETTINGS[name], said("closed")
    if setting.kind in (None, "user"):
        return [(value, said(text)) for value, text in setting.choices.items()]
    return [
        (one.tracker_id, f"{one.name} ({closed})" if one.details.get("is_closed") else one.name)
        for one in choices.entries[MetadataKind(setting.kind)]
    ]


def _rows(name: str, config: PluginConfig, choices: configuration.Choices) -> list[int]:
    """Return the GLPI values that have a row in a map's field."""
    seen = choices.statuses_seen if name == "status_map" else ()
    return sorted({*SETTINGS[name].keys, *seen, *getattr(config, name)})


def _part(request: Request, form: Fields | None) -> str:
    """Return the settings page to show: the form's, or else the requested one."""
    named = form.text("part") if form else request.url.path.removeprefix(f"{PATH}/")
    return named if named in PARTS else REDMINE


def _sealed(services: WithServices, base_url: str | None, key: str) -> str:
    """Return a typed key, encrypted for the page until it is saved; empty without a key or a way to encrypt it."""
    try:
        return sealed_key(services.vault, base_url or "", key) if key else ""
    except SettingsError:
        return ""


def _tested_key(services: WithServices, form: Fields) -> str:
    """Return the key that was typed earlier, if the address is still the one it was typed with."""
    sealed = form.text("sealed_key")
    return unsealed_key(services.vault, form.text("base_url"), sealed) or "" if sealed else ""


def _typed(form: Fields, before: PluginConfig) -> dict[str, str]:
    """Return every setting as typed at the command line; a page's form changes only the settings on that page."""
    typed = {name: _as_typed(before, name) for name in PluginConfig.model_fields}
    for name in PARTS.get(form.text("part"), SETTINGS):
        shape = shape_of(name)
        if shape == "box":
            typed[name] = json.dumps(form.has(name))
        elif shape == "ids":
            typed[name] = json.dumps(_ids(form, name))
        elif shape == "words":
            typed[name] = json.dumps(form.text(name).replace(",", " ").split())
        elif shape == "map":
            typed[name] = json.dumps(_mapped(form, name))
        elif form.has(name):
            typed[name] = form.text(name)
    return typed


def _ids(form: Fields, name: str) -> list[int]:
    given = [read_id(one) for one in (*form.all(name), form.text(f"add-{name}"))]
    return list(dict.fromkeys(one for one in given if one is not None))


def _mapped(form: Fields, name: str) -> dict[int, int]:
    rows = form.under(f"{row_of(name)}.")
    mapped = {read_id(row): read_id(values[-1]) for row, values in rows.items()}
    return dict(sorted((row, one) for row, one in mapped.items() if row is not None and one is not None))


def _as_typed(config: PluginConfig, name: str) -> str:
    value = config.model_dump(mode="json")[name]
    if value is None:
        return ""
    if isinstance(value, dict):
        value = dict(sorted(value.items(), key=lambda one: int(one[0])))
    return value if isinstance(value, str) else json.dumps(value)


def _seen(config: PluginConfig) -> str:
    """Return a hash that shows whether the settings are still those that the user saw."""
    return hashlib.sha256(config.model_dump_json().encode()).hexdigest()[:16]


def _faults(wrong: SettingsError) -> dict[str, str]:
    """Return the faults of a refusal by form field; faults without a field are under ""."""
    found: dict[str, str] = {}
    for path, problem in wrong.problems:
        name = path.partition(".")[0]
        field = name if name in (*PluginConfig.model_fields, "api_key") else ""
        found[field] = f"{found.get(field, '')} {sentence(problem)}".strip()
    return found
