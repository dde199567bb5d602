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
    """The plugin configuration; of the API key only whether it is stored."""

    api_key: Literal["stored", "not stored"]


class ConfigChanged(shapes.Answer):
    """The configuration after a change."""

    config: Config
    warnings: list[str]
    cautions: list[shapes.Caution]
    statuses_owed: int
    replayed: bool


class Difference(shapes.Answer):
    """What a synchronisation changed in one part of the metadata: names, and how many there are now."""

    total: int
    added: list[str]
    changed: list[str]
    removed: list[str]


class Synchronised(shapes.Answer):
    """What a synchronisation changed, by part."""

    ok: bool
    differences: dict[str, Difference]


class UserMapped(shapes.Answer):
    """An override; `confirmed` is false if no metadata is cached that could confirm the id."""

    helpdesk_user_id: int
    tracker_user_id: int
    login: str | None
    confirmed: bool


@router.get("/config", response_model=Config)
def show_config(services: WithServices) -> Any:
    """Show the plugin configuration; of the API key only whether it is stored."""
    return configuration.show(services.store)


@router.patch("/config", response_model=ConfigChanged)
def change_config(
    services: WithServices,
    values: Annotated[dict[str, Any], Body(description="Keys to change; null sets the default.")],
    moved: Annotated[bool, Query(description="The new base_url is the same tracker's.")] = False,
    replay: Annotated[
        bool, Query(description="Re-send statuses that the previous status_map mapped differently.")
    ] = False,
) -> Any:
    """Change values of the plugin configuration; `api_key` is stored encrypted and never shown.

    A base_url with another host needs `api_key`, too: the stored one is not sent to where it has not been before.
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
    """Whether trial mode is on; if it is switched off, what becomes of the events that wait."""

    on: bool
    waiting: Literal["send", "drop"] = Field(
        default="send", description="When it is switched off: send the waiting events, or drop them."
    )


class TrialShown(shapes.Answer):
    """Whether trial mode is on, and how many events wait."""

    on: bool
    waiting: int


class TrialSwitched(TrialShown):
    """The same after a switch, and how many waiting events were sent or dropped by it."""

    sent: int
    dropped: int


@router.get("/trial")
def show_trial(services: WithServices) -> TrialShown:
    """Show whether trial mode is on, in which events are planned and nothing is sent to Redmine for them."""
    found = trial.standing(services.store)
    return TrialShown(on=found.is_on, waiting=found.waiting)


@router.put("/trial")
def switch_trial(services: WithServices, switch: TrialSwitch) -> TrialSwitched:
    """Switch trial mode on, or off with the waiting events sent or dropped; to repeat it changes nothing."""
    if switch.on:
        trial.begin(services.store)
        ended = trial.Ended(was_on=False)
    else:
        ended = trial.end(services, drops=switch.waiting == "drop")
    found = trial.standing(services.store)
    return TrialSwitched(on=found.is_on, waiting=found.waiting, sent=ended.sent, dropped=ended.dropped)


@router.get("/metadata")
def show_metadata(services: WithServices) -> Metadata:
    """Show how much of the tracker is cached, and the latest synchronisations."""
    return cached(services.store)


@router.post("/metadata/sync", responses=refusals(502), response_model=Synchronised)
def sync_metadata(services: WithServices) -> Any:
    """Read the tracker's metadata now; 502 if it could not be read as a whole, and the cache is as it was."""
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
        int | None, Query(ge=1, le=LARGEST, description="Only of this tracker project.")
    ] = None,
) -> list[shapes.TrackerUser] | list[shapes.Entry]:
    """List a part of the cache: users, projects, issue_types, statuses, priorities, activities, roles and so on."""
    if part == "users":
        return [shapes.TrackerUser.of(one) for one in people.tracker_users(services.store)]
    return [shapes.Entry.of(one) for one in entries(services.store, part, project)]


class Override(RequestBody):
    """Who a helpdesk user is on the tracker."""

    tracker_user_id: StrictId


@router.get("/user-map")
def user_map(services: WithServices) -> list[HelpdeskUser]:
    """List each helpdesk user that events have named, with override, e-mail match, or none."""
    return people.with_names(services.names, people.user_map(services.store))


@router.post("/user-map/{helpdesk_user_id}/confirm", responses=refusals(404))
def confirm_match(services: WithServices, helpdesk_user_id: Id) -> HelpdeskUser:
    """State that a helpdesk user's match by e-mail is right."""
    (confirmed,) = people.with_names(
        services.names, people.confirm_matches(services.store, [helpdesk_user_id])
    )
    return confirmed


@router.put("/user-map/{helpdesk_user_id}")
def map_user(services: WithServices, helpdesk_user_id: Id, override: Override) -> UserMapped:
    """Map a helpdesk user to a tracker user."""
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
    """Remove the override of a helpdesk user."""
    people.unmap_user(services.store, helpdesk_user_id)
    return Response(status_code=204)


def _typed(value: Any) -> str:
    """Return a JSON value as a user would type it at the command line."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)
