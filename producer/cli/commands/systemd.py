"""Sets deskbridge up under systemd."""

from __future__ import annotations

from typing import Annotated

import typer

from producer.cli.output import count, say
from producer.cli.register import SYSTEMD, command


@command(
    SYSTEMD,
    "install",
    "deskbridge systemd install --dry-run",
    "deskbridge systemd install",
    was="install-units",
)
def install(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the files without writing them.")] = False,
) -> None:
    """Install systemd units for this virtual environment.

    Writes the units, creates the system users deskbridge and deskbridge-in, and adds missing files to /etc/deskbridge.
    It starts nothing and keeps your files in /etc/deskbridge. Run it again after each upgrade. The Debian package
    already contains the units.
    """
    from producer.admin.units import installation

    if dry_run:
        for one in installation.planned(installation.this_venv()):
            say(
                f"# {one.path}{' (an existing file is kept)' if one.is_kept else ''}",
                *one.text.splitlines(),
                "",
            )
        return
    written = installation.install(installation.this_venv())
    say(*(str(path) for path in written))
    say(
        f"{count(len(written), 'file')} written. Fill in the two *.env files in /etc/deskbridge, then run: "
        "systemctl enable --now deskbridge.target"
    )
