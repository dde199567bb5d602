"""Sets deskbridge up under systemd."""

from __future__ import annotations

from typing import Annotated

import typer

from producer.cli.output import count, say
from producer.cli.register import add


def register(app: typer.Typer, panel: str) -> None:
    """Add the commands of this module."""
    add(app, install_units, panel, "deskbridge install-units --dry-run", "deskbridge install-units")


def install_units(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the files, change nothing.")] = False,
) -> None:
    """Have systemd run what is installed in this venv.

    Writes the units, makes the accounts deskbridge and deskbridge-in, and begins /etc/deskbridge; nothing is started,
    and no file in /etc/deskbridge is changed. To be repeated after each upgrade. The Debian package needs none of it.
    """
    from producer.admin.units.installation import install, planned, this_venv

    if dry_run:
        for one in planned(this_venv()):
            say(
                f"# {one.path}{' (left as it is where it exists)' if one.is_kept else ''}",
                *one.text.splitlines(),
                "",
            )
        return
    written = install(this_venv())
    say(*(str(path) for path in written))
    say(
        f"{count(len(written), 'file')} written. When /etc/deskbridge has what the two files *.env there ask for: "
        "systemctl enable --now deskbridge.target"
    )
