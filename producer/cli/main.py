"""The command line's entry point, and the one place that handles every failure."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from producer.cli.failures import explain
from producer.cli.output import complain, print_json
from producer.cli.register import Panel, add_commands
from shared.notices.notice import notice_json
from shared.notices.render import sentence
from shared.process.dumps import guard_memory
from shared.process.loading import look_seldom

SUMMARY = """Sync GLPI tickets and tasks to Redmine, exactly once and under the right user.

Environment variables (DESKBRIDGE_…) hold the environment settings. The database holds the Redmine settings (`config`).

Exit codes: 0 success, 1 failure, 2 wrong usage."""

AS_JSON = f"{__name__}.json"


class Commands(TyperGroup):
    """Runs a command, and handles whatever it raises.

    A failure becomes an exit code and one line on standard error, or with --json one document on standard output.
    """

    def list_commands(self, _ctx: Any) -> list[str]:
        """Return the names of the commands, ordered by task."""
        order = list(Panel)
        return sorted(
            (name for name, one in self.commands.items() if not one.hidden),
            key=lambda name: order.index(Panel(self.commands[name].rich_help_panel)),  # type: ignore[attr-defined]
        )

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Record whether JSON was requested, before anything can fail."""
        ctx.meta[AS_JSON] = "--json" in args
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # noqa: BLE001 (here every failure ends)
            raise self._told(ctx, error) from None

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _silence()
            raise typer.Exit(1) from None
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (here every failure ends)
            raise self._told(ctx, error) from None

    def _told(self, ctx: Any, error: BaseException) -> BaseException:
        """Report a failure once; return the exception that ends the process."""
        if isinstance(error, typer.Exit):
            return error
        notice, code = explain(error)
        if ctx.meta[AS_JSON]:
            print_json({"error": {**notice_json(notice), "message": sentence(notice)}})
        elif isinstance(error, typer.Abort) or hasattr(error, "exit_code"):
            return error  # typer's own errors display themselves
        else:
            complain(sentence(notice))
        return typer.Exit(code)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"deskbridge {version('deskbridge')}")
        raise typer.Exit


app = typer.Typer(
    name="deskbridge",
    cls=Commands,
    help=SUMMARY,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Take the options that belong to no command."""


add_commands(app, "producer.cli.commands")


def run() -> None:
    """Run the command line."""
    guard_memory()
    look_seldom()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a character that the locale lacks is no reason to fail
            stream.reconfigure(errors="replace")
    app()


def _silence() -> None:
    """Discard all further output, since the reader of the pipe has left."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    run()
