"""How commands are added: with help that reads well, examples, and ids that fit the database."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from producer.cli.failures import WrongUsage
from shared.values.ids import LARGEST


def add(
    app: typer.Typer, function: Callable[..., Any], panel: str | None, *lines: str, name: str | None = None
) -> None:
    """Add a command.

    Args:
        app: where to.
        function: the command; its docstring is its help.
        panel: the group under which the list of commands shows it.
        lines: examples of what to type.
        name: its name, the function's by default.
    """
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    shown = "\n\n".join(f"[cyan]{line}[/cyan]" for line in lines)
    app.command(
        name or function.__name__.replace("_", "-"),
        rich_help_panel=panel,
        help="\n\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs),
        epilog=f"[bold]Examples[/bold]\n\n{shown}",
    )(function)


def fits(value: int | None) -> int | None:
    """Refuse a number that is too large for an id."""
    if value is not None and value > LARGEST:
        raise typer.BadParameter(f"{value} is too large for an id")
    return value


def fit(values: list[int] | None) -> list[int] | None:
    """Refuse numbers that are too large for an id."""
    for value in values or ():
        fits(value)
    return values


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def zoned(text: str | None, option: str = "--since") -> datetime | None:
    """Return a time that was typed as an option, in UTC; refuse one without its zone."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise WrongUsage(f"{option} {text}: expected a time such as 2026-11-20T03:00:00Z") from None
    if moment.tzinfo is None:
        raise WrongUsage(f"{option} {text}: name its zone, such as {text}Z or {text}+01:00")
    return moment.astimezone(UTC)
