"""The Redmine settings (SPEC 2.1)."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from producer.cli.assignments import pairs
from producer.cli.failures import WrongUsage
from producer.cli.output import count, plain, print_json, say, table, warn
from producer.cli.register import CONFIG, Json, command
from producer.cli.services import open_services
from shared.notices.render import sentence


@command(CONFIG, "show", "deskbridge config show", "deskbridge config show --json")
def show(as_json: Json = False) -> None:
    """Show the Redmine settings.

    The API key itself is not shown, only whether it is stored.
    """
    from producer.admin.configuration import configuration
    from shared.events.config import PluginConfig

    with open_services() as services:
        values = configuration.show(services.store)
        shown = {name: _shown(services.names.value(name, value)) for name, value in values.items()}
    if as_json:
        print_json(values)
        return
    meanings = {name: field.description for name, field in PluginConfig.model_fields.items()}
    meanings["api_key"] = "Stored encrypted and never shown (`config set-api-key` sets it)"
    table(("Key", "Value", "Meaning"), [(name, value, meanings[name]) for name, value in shown.items()])


@command(
    CONFIG,
    "set",
    "deskbridge config set base_url=https://redmine.example.org",
    """deskbridge config set default_activity_id=9 'status_map={"1": 1, "5": 3}'""",
    "deskbridge config set 'default_watcher_ids=[5,7]' default_tracker_id=",
    "deskbridge config set --moved base_url=https://new.example.org",
    """deskbridge config set --replay 'status_map={"1": 1, "5": 3}'""",
)
def change(
    assignments: Annotated[
        list[str],
        typer.Argument(metavar="KEY=VALUE", help="Values. An empty value resets the key to its default."),
    ],
    moved: Annotated[
        bool, typer.Option("--moved", help="The new base_url is another address of the same Redmine.")
    ] = False,
    replay: Annotated[
        bool,
        typer.Option("--replay", help="Re-send statuses that the previous status_map mapped differently."),
    ] = False,
) -> None:
    """Change Redmine settings.

    `deskbridge config show` lists the keys and their meaning. Write lists and maps as JSON.
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
        say(f"deskbridge sends the new status of {count(len(changed.owed), 'ticket')}.")
    elif changed.owed:
        say(
            f"The new status_map gives {count(len(changed.owed), 'ticket')} a different status. To send it now:",
            "  deskbridge config set --replay 'status_map=…'    (with the same value)",
        )


@command(CONFIG, "set-api-key", "deskbridge config set-api-key", "deskbridge config set-api-key < key.txt")
def set_api_key() -> None:
    """Store the API key of a Redmine administrator.

    deskbridge reads the key from standard input, or prompts for it on a terminal. It stores the key encrypted and tests
    it in Redmine. Exits with 1 if Redmine rejects the key.
    """
    from producer.admin.configuration import api_key
    from shared.errors import SettingsError

    with open_services() as services:
        text = typer.prompt("API key", hide_input=True) if sys.stdin.isatty() else sys.stdin.read(10_000)
        stored = api_key.set_key(services, text)
    if isinstance(stored.failure, SettingsError):
        say("The API key is stored, encrypted. It was not tested, because base_url is not set.")
        return
    if stored.failure:
        warn("the API key is stored, encrypted, but the test failed, so deskbridge cannot send anything yet")
        raise stored.failure
    say(
        f"The API key is stored, encrypted. Redmine accepts it. It belongs to the administrator {stored.whose}."
    )
    if stored.resumed:
        say("Waiting events continue.")
    elif stored.resumed is None:
        warn("Redis cannot be reached, so waiting events continue within a minute")


@command(CONFIG, "rotate-keys", "deskbridge config rotate-keys")
def rotate_keys() -> None:
    """Encrypt the stored API key with the newest secret key.

    To change the secret key without downtime, put a new one first in DESKBRIDGE_SECRET_KEYS and restart all processes.
    Run this command. Then remove the old key and restart all processes again.
    """
    from producer.admin.configuration import api_key
    from shared.connection.vault import Vault

    with open_services() as services:
        rotated = api_key.rotate_keys(services.store, Vault(services.settings.secret_keys))
    if rotated:
        say(
            "The API key is now encrypted with the first of DESKBRIDGE_SECRET_KEYS. You can remove the other keys."
        )
    else:
        say("Nothing to encrypt: no API key is stored. Run `deskbridge config set-api-key` to store one.")


def _shown(value: object) -> str:
    import json

    if isinstance(value, (dict, list, bool)):
        return json.dumps(value) if value or isinstance(value, bool) else ""
    return plain(value)
