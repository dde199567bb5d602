"""The unprivileged account for PostgreSQL if this process is root."""

import os
import pwd
import subprocess
from pathlib import Path

from deploy.embedded.child import Account
from deploy.embedded.errors import EmbeddedError


def unprivileged_account() -> Account | None:
    """Return the account for a server that refuses root: `nobody` if this process is root, else None (no change).

    Raises:
        EmbeddedError: if this process is root and the machine has no account `nobody`.
    """
    if os.geteuid() != 0:
        return None
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise EmbeddedError(
            "PostgreSQL does not run as root and this machine has no account 'nobody': "
            "start as an ordinary user, or add the account"
        ) from None
    return Account(nobody.pw_uid, nobody.pw_gid)


def run_as(account: Account | None, argv: list[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run a short command as `account` in a clean environment, and return its exit code and output.

    Raises:
        EmbeddedError: if the command cannot be executed, or the process cannot switch to the account.
    """
    command = [str(argument) for argument in argv]
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            cwd="/",
            env={"LC_ALL": "C", "PATH": os.defpath},
            user=account.user if account else None,
            group=account.group if account else None,
            extra_groups=[] if account else None,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise EmbeddedError(f"cannot run {command[0]} as another account: {error}") from error


def can_enter(account: Account | None, directory: Path) -> bool:
    """Return whether `account` can enter `directory` and all directories above it."""
    # Tried out instead of read from the modes, which do not include everything (ACLs, root-squash).
    return run_as(account, ["/bin/sh", "-c", 'cd -- "$0"', directory]).returncode == 0


def open_directory(account: Account, candidates: list[Path]) -> Path:
    """Create and return the first of `candidates` that `account` can enter, owned by this process.

    Raises:
        EmbeddedError: if there is none.
    """
    for directory in candidates:
        try:
            directory.mkdir(mode=0o755, exist_ok=True)
        except OSError:
            continue
        # In a world-writable directory, another user may have created it first.
        if (
            not directory.is_symlink()
            and directory.stat().st_uid == os.geteuid()
            and can_enter(account, directory)
        ):
            return directory
    places = ", ".join(str(directory) for directory in candidates)
    raise EmbeddedError(
        f"PostgreSQL runs as 'nobody' here, who can enter none of: {places}. Start as an ordinary user"
    )
