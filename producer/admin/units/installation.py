"""Sets deskbridge up under systemd, from the venv in which it runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from shared.errors import BridgeError
from shared.notices.system_refusals import SystemRefusal

SHIPPED = files("producer.admin.units")
WRITTEN_FOR = "/opt/deskbridge"
"""The path of the venv in the shipped files."""

PLAIN = re.compile(r"(/[A-Za-z0-9._+-]+)+")
HIDDEN = ("/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/")  # noqa: S108 (named, not used)
"""Paths that a unit with ProtectHome and PrivateTmp cannot see."""

PACKAGED = Path("usr/lib/systemd/system/deskbridge.target")
RUNNING = Path("/run/systemd/system")
"""A directory that exists if systemd runs the machine (sd_booted)."""
COMMANDS = (("systemd-sysusers", "/etc/sysusers.d/deskbridge.conf"), ("systemctl", "daemon-reload"))


class CannotInstall(BridgeError):
    """The units cannot be set up here."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A file to be written.

    Attributes:
        path: its absolute path.
        text: its content.
        mode: its permissions.
        is_kept: whether an existing file is left as it is.
    """

    path: Path
    text: str
    mode: int = 0o644
    is_kept: bool = False


def planned(venv: Path, root: Path = Path("/")) -> list[Planned]:
    """Return every file to be written, in order.

    Args:
        venv: where deskbridge is installed.
        root: the root of the file system.

    Raises:
        CannotInstall: if units cannot run the venv, or a package has already installed units.
    """
    if not PLAIN.fullmatch(str(venv)) or not (venv / "bin" / "deskbridge").exists():
        raise CannotInstall(SystemRefusal.UNITS_NO_VENV(venv=str(venv)))
    if f"{venv}/".startswith(HIDDEN):
        raise CannotInstall(SystemRefusal.UNITS_NOT_SEEN(venv=str(venv), place=WRITTEN_FOR))
    if (root / PACKAGED).exists():
        raise CannotInstall(SystemRefusal.UNITS_ARE_PACKAGED())
    etc = root / "etc"
    found = [
        *((etc / "systemd/system" / name, text) for name, text in _texts(SHIPPED / "systemd")),
        (etc / "sysusers.d/deskbridge.conf", (SHIPPED / "sysusers.conf").read_text(encoding="utf-8")),
    ]
    command = (SHIPPED / "command.sh").read_text(encoding="utf-8")
    return [
        *(Planned(path, text.replace(WRITTEN_FOR, str(venv))) for path, text in found),
        Planned(root / "usr/local/sbin/deskbridge", command.replace(WRITTEN_FOR, str(venv)), 0o755),
        *(
            Planned(etc / "deskbridge" / name, text.replace(WRITTEN_FOR, str(venv)), 0o600, is_kept=True)
            for name, text in _texts(SHIPPED / "etc")
        ),
    ]


def install(venv: Path, root: Path = Path("/")) -> list[Path]:
    """Write the files, create the system accounts, and have systemd read the units.

    Args:
        venv: where deskbridge is installed.
        root: the root of the file system; commands are run only if it is this machine's.

    Returns:
        The files that were written.

    Raises:
        CannotInstall: if the user is not root, there is no systemd, or a command failed; or as `planned`.
    """
    if os.geteuid() != 0:
        raise CannotInstall(SystemRefusal.UNITS_NEED_ROOT())
    is_this_machine = root == Path("/")
    if is_this_machine and not RUNNING.is_dir():
        raise CannotInstall(SystemRefusal.UNITS_NEED_SYSTEMD())
    written = []
    for one in planned(venv, root):
        if one.is_kept and one.path.exists():
            continue
        one.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700 if one.mode == 0o600 else 0o755)
        one.path.write_text(one.text, encoding="utf-8")
        one.path.chmod(one.mode)
        written.append(one.path)
    if is_this_machine:
        for command in COMMANDS:
            _run(command)
    return written


def this_venv() -> Path:
    """Return the venv that this process runs in."""
    return Path(sys.prefix)


def _texts(folder: Traversable, within: str = "") -> Iterator[tuple[str, str]]:
    for one in sorted(folder.iterdir(), key=lambda found: found.name):
        if one.is_dir():
            yield from _texts(one, f"{within}{one.name}/")
        else:
            yield f"{within}{one.name}", one.read_text(encoding="utf-8")


def _run(command: tuple[str, ...]) -> None:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise CannotInstall(
            SystemRefusal.UNITS_COMMAND_FAILED(command=" ".join(command), error=ended.stderr.strip())
        )
