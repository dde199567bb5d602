"""Declaration of commands: each registers itself, with its group, its examples and its old name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any, TypeVar

import typer

from producer.cli.failures import WrongUsage
from shared.values.ids import LARGEST

Function = TypeVar("Function", bound=Callable[..., Any])


class Panel(StrEnum):
    """A task, under which `deskbridge --help` lists groups and commands."""

    SET_UP = "Set up"
    RUN = "Run"
    WATCH = "Watch"
    FIX = "Fix"


@dataclass(frozen=True, slots=True)
class Group:
    """Commands about one noun.

    Attributes:
        name: the noun.
        panel: the task under which `deskbridge --help` lists it.
        help: what its commands are for.
    """

    name: str
    panel: Panel
    help: str


GROUPS: list[Group] = []
"""In the order of `deskbridge --help`."""


def _group(name: str, panel: Panel, help: str) -> Group:
    GROUPS.append(Group(name, panel, help))
    return GROUPS[-1]


CONFIG = _group("config", Panel.SET_UP, "Show or change the Redmine settings.")
SECRET = _group("secret", Panel.SET_UP, "Generate keys, secrets and tokens.")
TRIAL = _group("trial", Panel.SET_UP, "Plan everything, and send nothing to Redmine.")
NOTIFICATION = _group("notification", Panel.SET_UP, "Notify people by mail, chat or webhook.")
ACCOUNT = _group("account", Panel.SET_UP, "Manage console accounts and API tokens.")
MAPPING = _group("mapping", Panel.SET_UP, "Map GLPI entities and projects to Redmine projects.")
PROJECT = _group("project", Panel.SET_UP, "Create Redmine projects.")
USER = _group("user", Panel.SET_UP, "Map GLPI users to Redmine users, or erase a person.")
METADATA = _group("metadata", Panel.SET_UP, "Refresh the cached Redmine metadata.")
TEMPLATE = _group("template", Panel.SET_UP, "Manage templates, which replace the standard requests.")
SYSTEMD = _group("systemd", Panel.SET_UP, "Install systemd units.")
EVENT = _group("event", Panel.WATCH, "List, replay or send events.")
TICKET = _group("ticket", Panel.WATCH, "Show a ticket's history or the highest ids; forget a link.")
ARTICLE = _group("article", Panel.WATCH, "Show or check knowledge articles.")
AUDIT = _group("audit", Panel.WATCH, "Show what people changed.")
HOLD = _group("hold", Panel.FIX, "List and resolve creations on hold.")
AUTHOR = _group("author", Panel.FIX, "List and correct wrong authors.")
RESTORE = _group("restore", Panel.FIX, "Continue after a backup was restored.")


@dataclass(frozen=True, slots=True)
class _Command:
    place: Group | Panel
    name: str
    function: Callable[..., Any]
    examples: tuple[str, ...]
    was: str | None
    hidden: bool


_declared: list[_Command] = []


def command(
    place: Group | Panel, name: str, *examples: str, was: str | None = None, hidden: bool = False
) -> Callable[[Function], Function]:
    """Declare a command; its docstring is its help.

    Args:
        place: its group, or its panel if it belongs to none.
        name: its name in the group.
        examples: lines to type, each safe to paste.
        was: its name in the previous release, which still works but is not listed.
        hidden: whether it is not listed.
    """

    def declare(function: Function) -> Function:
        _declared.append(_Command(place, name, function, examples, was, hidden))
        return function

    return declare


def add_commands(app: typer.Typer, package: str) -> None:
    """Import every module of a package, and add the commands and groups that they declare.

    Args:
        app: the program.
        package: the name of the package. Its modules need this one, so they are found by name.
    """
    for module in iter_modules(import_module(package).__path__):
        import_module(f"{package}.{module.name}")
    groups = {group.name: typer.Typer(help=group.help, no_args_is_help=True) for group in GROUPS}
    for group in GROUPS:
        app.add_typer(groups[group.name], name=group.name, rich_help_panel=group.panel)
    for one in sorted(_declared, key=lambda one: one.name != "list"):  # it comes first in its group
        panel = one.place if isinstance(one.place, Panel) else None
        _add(app if isinstance(one.place, Panel) else groups[one.place.name], one.name, one, panel)
        if one.was:
            *old_group, old_name = one.was.split()
            for name in old_group:
                if name not in groups:
                    groups[name] = typer.Typer(no_args_is_help=True)
                    app.add_typer(groups[name], name=name, hidden=True)
            _add(groups[old_group[0]] if old_group else app, old_name, one, panel, hidden=True)


def _add(parent: typer.Typer, name: str, one: _Command, panel: Panel | None, *, hidden: bool = False) -> None:
    paragraphs = inspect.cleandoc(one.function.__doc__ or "").split("\n\n")
    examples = "\n\n".join(f"[cyan]{line.replace('[', chr(92) + '[')}[/cyan]" for line in one.examples)
    parent.command(
        name,
        rich_help_panel=panel,
        help="\n\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs),
        epilog=f"[bold]Examples[/bold]\n\n{examples}" if examples else None,
        hidden=hidden or one.hidden,
    )(one.function)


def id_argument(metavar: str, help: str, *, least: int = 1) -> Any:
    """Return an argument that is an id, or several of them.

    Args:
        metavar: its name in the help.
        help: its help text.
        least: the smallest valid id.
    """
    return typer.Argument(metavar=metavar, min=least, callback=_fits, help=help, show_default=False)


def id_option(metavar: str, help: str, *names: str, least: int = 1) -> Any:
    """Return an option that is an id, or several of them.

    Args:
        metavar: the name of its value in the help.
        help: its help text.
        names: its names, if not that of its parameter.
        least: the smallest valid id.
    """
    return typer.Option(*names, metavar=metavar, min=least, callback=_fits, help=help, show_default=False)


def _fits(value: int | list[int] | None) -> int | list[int] | None:
    """Refuse a number that is too large for an id."""
    for one in value if isinstance(value, list) else [value or 0]:
        if one > LARGEST:
            raise typer.BadParameter(f"{one} is too large for an id")
    return value


def moment_option(help: str) -> Any:
    """Return an option that is a day, or a time with its zone, for `zoned`."""
    return typer.Option(metavar="TIME", help=help, show_default=False)


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


LENGTH_OF_DAY = len("2026-11-20")


def zoned(text: str | None, option: str = "--since", *, is_exact: bool = False) -> datetime | None:
    """Return a time option in UTC.

    A day is a day of UTC: `--until` includes it. A time without a time zone is refused, and a day too if `is_exact`.
    """
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise WrongUsage(f"{option} {text} is not a time: write it as 2026-11-20T03:00:00Z") from None
    is_day = len(text) <= LENGTH_OF_DAY
    if is_day and not is_exact:
        return moment.replace(tzinfo=UTC) + timedelta(days=1 if option == "--until" else 0)
    if moment.tzinfo is None:
        time = f"{text}T00:00" if is_day else text
        raise WrongUsage(f"{option} {text} has no time zone: write {time}Z or {time}+01:00")
    return moment.astimezone(UTC)
