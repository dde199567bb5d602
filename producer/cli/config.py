"""The plugin configuration: what an administrator sets (SPEC 2.1)."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from producer.cli.assignments import pairs
from producer.cli.failures import WrongUsage
from producer.cli.output import count, plain, print_json, say, table, warn
from producer.cli.register import Json, add
from producer.cli.services import open_services
from shared.notices.render import sentence

app = typer.Typer(
    help="Show or change the tracker's address, defaults and API key.",
    no_args_is_help=True,
)


def show(as_json: Json = False) -> None:
    """Show every value; of the API key only whether it is stored."""
    from producer.admin.configuration import configuration
    from shared.events.config import PluginConfig

    with open_services() as services:
        values = configuration.show(services.store)
    if as_json:
        print_json(values)
        return
    meanings = {name: field.description for name, field in PluginConfig.model_fields.items()}
    meanings["api_key"] = "Stored encrypted, never shown (set-api-key)"
    table(
        ("Key", "Value", "Meaning"), [(name, _shown(value), meanings[name]) for name, value in values.items()]
    )


def change(
    assignments: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE", help="Values; an empty value sets the default.")
    ],
    moved: Annotated[
        bool, typer.Option("--moved", help="The new base_url is another address of the same tracker.")
    ] = False,
    replay: Annotated[
        bool, typer.Option("--replay", help="Give statuses anew that the status_map before gave otherwise.")
    ] = False,
) -> None:
    """Change values.

    `config show` lists the keys and what they mean. Lists and maps are given as JSON.
    """
    from producer.admin.configuration import configuration
    from shared.errors import SettingsError
    from shared.events.config import PluginConfig

    given = pairs(assignments, "KEY=VALUE", "config set")
    try:
        PluginConfig().changed(given)
    except SettingsError as error:
        raise WrongUsage(error.notice) from None
    with open_services() as services:
        changed = configuration.save(services, given, moved=moved, knows_key=True, replay=replay)
    for warning in changed.warnings:
        warn(sentence(warning))
    values = changed.config.model_dump(mode="json")
    say(*(f"{name} = {_shown(values[name]) or '(nothing)'}" for name in given))
    if changed.replayed:
        say(f"{count(len(changed.owed), 'ticket')} will have the status that status_map says now.")
    elif changed.owed:
        say(
            f"{count(len(changed.owed), 'ticket')} had been given another status, or none. To give it now:",
            "  deskbridge config set --replay status_map=…    (the same value)",
        )


def set_api_key() -> None:
    """Store the API key of a tracker administrator.

    Read from standard input, or asked for on a terminal; kept encrypted, and never shown. The tracker is asked at once
    whether it takes the key; exit code 1 where it does not, and why.
    """
    from producer.admin.configuration import configuration
    from shared.errors import SettingsError

    with open_services() as services:
        text = typer.prompt("API key", hide_input=True) if sys.stdin.isatty() else sys.stdin.read(10_000)
        stored = configuration.set_key(services, text)
    if isinstance(stored.failure, SettingsError):
        say("The API key is stored, encrypted. Whether it works is not known yet: no base_url is set.")
        return
    if stored.failure:
        warn("the API key is stored, encrypted, but nothing can be sent with it yet")
        raise stored.failure
    say(f"The API key is stored, encrypted. The tracker takes it: it is {stored.whose}'s, an administrator.")
    if stored.resumed:
        say("What had waited for the tracker goes on.")
    elif stored.resumed is None:
        warn("Redis cannot be reached, so the pause ends by itself, within a minute")


def rotate_keys() -> None:
    """Encrypt the stored API key anew, with the first of DESKBRIDGE_SECRET_KEYS.

    To change that key without downtime: put a new one in front and restart every process, run this, then drop the old
    one and restart again.
    """
    from producer.admin.configuration import configuration
    from shared.connection.vault import Vault

    with open_services() as services:
        rotated = configuration.rotate_keys(services.store, Vault(services.settings.secret_keys))
    if rotated:
        say(
            "The API key is encrypted with the first of DESKBRIDGE_SECRET_KEYS; the others are no longer needed."
        )
    else:
        say("No API key is stored, so there is nothing to encrypt anew.")


def _shown(value: object) -> str:
    import json

    if isinstance(value, (dict, list, bool)):
        return json.dumps(value) if value or isinstance(value, bool) else ""
    return plain(value)


add(app, show, None, "deskbridge config show", "deskbridge config show --json")
add(
    app,
    change,
    None,
    "deskbridge config set base_url=https://redmine.example.org",
    """deskbridge config set default_activity_id=9 'status_map={"1": 1, "5": 3}'""",
    "deskbridge config set default_watcher_ids=\\[5,7] default_tracker_id=",
    "deskbridge config set --moved base_url=https://new.example.org",
    """deskbridge config set --replay 'status_map={"1": 1, "5": 3}'""",
    name="set",
)
add(app, set_api_key, None, "deskbridge config set-api-key", "deskbridge config set-api-key < key.txt")
add(app, rotate_keys, None, "deskbridge config rotate-keys")
