"""/api/config, /api/trial, /api/metadata, /api/user-map: the set-up by an administrator."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import Body, Query
from pydantic import Field
from starlette.responses import Response

from producer.admin.configuration import configuration, trial
from producer.admin.configuration.metadata import Metadata, cached, entries, read_now
from producer.admin.people import people
from producer.admin.people.people import HelpdeskUser
from producer.admin.presenters import shapes
from producer.console.api.routes import RequestBody, api_router
from producer.console.auth.answers import Id, WithServices
from producer.http.problems import Problem, refusals
from shared.errors import NotFound, SettingsError
from shared.events.config import PluginConfig
from shared.values.ids import LARGEST
from shared.values.validation import StrictId

router = api_router("/api", "setup")
API_KEY = "api_key"


class Config(PluginConfig):
    """The Redmine settings; `api_key` only states whether a key is stored."""

    api_key: Literal["stored", "not stored"]


class ConfigChanged(shapes.Answer):
    """The Redmine settings after a change."""

    config: Config
    warnings: list[str]
    cautions: list[shapes.Caution]
    statuses_owed: int
    replayed: bool


class Difference(shapes.Answer):
    """What a metadata sync changed in one part: the names, and the new total."""

    total: int
    added: list[str]
    changed: list[str]
    removed: list[str]


class Synchronised(shapes.Answer):
    """What a metadata sync changed, by part."""

    ok: bool
    differences: dict[str, Difference]


class UserMapped(shapes.Answer):
    """A user mapping; `confirmed` is false if no metadata is cached to check the id against."""

    helpdesk_user_id: int
    tracker_user_id: int
    login: str | None
    confirmed: bool


@router.get("/config", response_model=Config)
def show_config(services: WithServices) -> Any:
    """Show the Redmine settings; `api_key` only states whether a key is stored."""
    return configuration.show(services.store)


@router.patch("/config", response_model=ConfigChanged)
def change_config(
    services: WithServices,
    values: Annotated[dict[str, Any], Body(description="Settings to change; null sets the default.")],
    moved: Annotated[bool, Query(description="The new base_url is a new URL of the same Redmine.")] = False,
    replay: Annotated[
        bool, Query(description="Re-send the statuses that the previous status_map mapped differently.")
    ] = False,
) -> Any:
    """Change Redmine settings; `api_key` is stored encrypted and never shown.

    A base_url with another host also needs `api_key`, because the stored key is never sent to a new host.
    """
    api_key = values.pop(API_KEY, None)
    key = api_key if api_key is None or isinstance(api_key, str) else ""
    typed = {name: _typed(value) for name, value in values.items()}
    try:
        changed = configuration.save(services, typed, api_key=key, moved=moved, replay=replay)
    except SettingsError as wrong:
        raise Problem(422, "Not valid", why=wrong.notice, faults=wrong.faults) from None
    return {
        "config": configuration.show(services.store),
        **shapes.warnings_json(changed.warnings),
        "statuses_owed": len(changed.owed),
        "replayed": changed.replayed,
    }


class TrialSwitch(RequestBody):
    """Whether to switch trial mode on or off, and what to do with waiting events when it is switched off."""

    on: bool
    waiting: Literal["send", "drop"] = Field(
        default="send", description="When trial mode is switched off: send the waiting events, or drop them."
    )


class TrialShown(shapes.Answer):
    """Whether trial mode is on, and how many events wait."""

    on: bool
    waiting: int


class TrialSwitched(TrialShown):
    """The state of trial mode after a switch, and how many waiting events were sent or dropped."""

    sent: int
    dropped: int


@router.get("/trial")
def show_trial(services: WithServices) -> TrialShown:
    """Show whether trial mode is on. In trial mode, events are planned and nothing is sent to Redmine for them."""
    found = trial.standing(services.store)
    return TrialShown(on=found.is_on, waiting=found.waiting)


@router.put("/trial")
def switch_trial(services: WithServices, switch: TrialSwitch) -> TrialSwitched:
    """Switch trial mode on, or off and send or drop the waiting events; a repeated call changes nothing."""
    if switch.on:
        trial.begin(services.store)
        ended = trial.Ended(was_on=False)
    else:
        ended = trial.end(services, drops=switch.waiting == "drop")
    found = trial.standing(services.store)
    return TrialSwitched(on=found.is_on, waiting=found.waiting, sent=ended.sent, dropped=ended.dropped)


@router.get("/metadata")
def show_metadata(services: WithServices) -> Metadata:
    """Show how many entries of Redmine's metadata are cached, and the latest syncs."""
    return cached(services.store)


@router.post("/metadata/sync", responses=refusals(502), response_model=Synchronised)
def sync_metadata(services: WithServices) -> Any:
    """Read Redmine's metadata now; 502 if any part could not be read, and then the cache is unchanged."""
    result = read_now(services)
    if result.busy:
        raise Problem(
            409, "Conflict: another run is in progress", why=result.why, headers={"Retry-After": "5"}
        )
    if not result:
        raise Problem(502, "The metadata was not synchronised", why=result.why)
    return {"ok": True, "differences": result.as_json()}


@router.get("/metadata/{part}", responses=refusals(404))
def show_part(
    services: WithServices,
    part: str,
    project: Annotated[
        int | None, Query(ge=1, le=LARGEST, description="Only entries of this Redmine project.")
    ] = None,
) -> list[shapes.TrackerUser] | list[shapes.Entry]:
    """List part of the metadata: users, projects, issue_types, statuses, priorities, activities, roles and so on."""
    if part == "users":
        return [shapes.TrackerUser.of(one) for one in people.tracker_users(services.store)]
    return [shapes.Entry.of(one) for one in entries(services.store, part, project)]


class Override(RequestBody):
    """A user mapping for a GLPI user."""

    tracker_user_id: StrictId


@router.get("/user-map")
def user_map(services: WithServices) -> list[HelpdeskUser]:
    """List each GLPI user that events have named, with the user mapping, e-mail match, or neither."""
    return people.with_names(services.names, people.user_map(services.store))


@router.post("/user-map/{helpdesk_user_id}/confirm", responses=refusals(404))
def confirm_match(services: WithServices, helpdesk_user_id: Id) -> HelpdeskUser:
    """Confirm the match of a GLPI user by e-mail."""
    (confirmed,) = people.with_names(
        services.names, people.confirm_matches(services.store, [helpdesk_user_id])
    )
    return confirmed


@router.put("/user-map/{helpdesk_user_id}")
def map_user(services: WithServices, helpdesk_user_id: Id, override: Override) -> UserMapped:
    """Map a GLPI user to a Redmine user."""
    try:
        person = people.map_user(services.store, helpdesk_user_id, override.tracker_user_id)
    except NotFound as unknown:
        raise Problem(422, "Not valid", why=unknown.notice) from None
    return UserMapped(
        helpdesk_user_id=helpdesk_user_id,
        tracker_user_id=override.tracker_user_id,
        login=person.login if person else None,
        confirmed=person is not None,
    )


@router.delete("/user-map/{helpdesk_user_id}", status_code=204, responses=refusals(404))
def unmap_user(services: WithServices, helpdesk_user_id: Id) -> Response:
    """Remove the user mapping of a GLPI user."""
    people.unmap_user(services.store, helpdesk_user_id)
    return Response(status_code=204)


def _typed(value: Any) -> str:
    """Return a JSON value as a user would type it at the command line."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)
