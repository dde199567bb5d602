"""`python -m deploy.release`: build every file of a release in dist/, with SHA256SUMS.

Wheel, sdist, Debian package, image recipe, chart, plugin and bill of materials, built only from the last commit: the
same commit gives the same bytes, wherever and whenever they are built. The version is pyproject.toml's, the plugin has
its own. `python -m deploy.release plugin` builds only the archive of GLPI's plugin, from the working tree, and
`python -m deploy.release changelog` moves the fragments into the changelog. Both need nothing but Python.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path

from deploy.changelog import FOLDER, BadFragment, assemble

ROOT = Path(__file__).resolve().parents[1]
EPOCH = "SOURCE_DATE_EPOCH"
RECIPE = ("deploy/container", "deploy/monitoring", "requirements-runtime.lock")
"""The files that build and run an image, in addition to the wheel."""

CHART = "deploy/helm/deskbridge"
PLUGIN = "deploy/glpi-plugin/deskbridge"
IGNORED = frozenset({"secrets", "__pycache__"})


class NotReady(Exception):
    """The sources cannot be released; the message says what to do."""


def main() -> int:
    """Build a release of the last commit, or do the part that an argument names; return the exit code."""
    try:
        match sys.argv[1:]:
            case ["plugin"]:
                made = [plugin_archive(ROOT, ROOT / "dist", _epoch())]
            case ["changelog"]:
                print(f"{assemble(ROOT)} fragments are now under Unreleased in CHANGELOG.md")
                made = []
            case _:
                made = release(ROOT / "dist")
    except (NotReady, BadFragment) as fault:
        print(f"deploy.release: {fault}", file=sys.stderr)
        return 1
    print("\n".join(str(one.relative_to(ROOT)) for one in made))
    return 0


def release(into: Path) -> list[Path]:
    """Build all files of a release.

    Args:
        into: folder; its contents are replaced when everything is built.

    Returns:
        The files, SHA256SUMS last.

    Raises:
        NotReady: if something is not committed, as `checked_version`, or if a file cannot be built here.
    """
    if _git("status", "--porcelain", "--untracked-files=no"):
        raise NotReady("commit first: a release is made of the last commit")
    if not shutil.which("dpkg-deb"):
        raise NotReady("a release is made on the Debian that its package is for: there is no dpkg-deb here")
    os.umask(0o022)
    epoch = _epoch()
    os.environ[EPOCH] = str(epoch)
    # beside `into`, so that moving it cannot fail half-way
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into.parent, prefix=".release-") as folder:
        source = _sources(Path(folder) / "deskbridge")
        version = checked_version(source)
        built = Path(folder) / "built"
        built.mkdir()
        names = _build(source, version, built, epoch)
        shutil.rmtree(into, ignore_errors=True)
        built.rename(into)
    return [into / one for one in names]


def _build(source: Path, version: str, into: Path, epoch: int) -> list[str]:
    """Build all files of a release in a folder; return their names, SHA256SUMS last."""
    wheel, sdist = _packages(source, epoch)
    plugin = plugin_archive(source, source / "dist", epoch)
    for one in (plugin, sdist, wheel):
        shutil.copy(one, into)
    sdist.unlink()  # an image needs the wheel and the plugin
    uv = Path(sys.executable).with_name("uv")
    _run([source / "deploy" / "debian" / "build", f"dist/{wheel.name}", uv], source)
    (package,) = (source / "dist").glob("*.deb")
    shutil.move(package, into)
    recipe = {one: source / one for one in (*RECIPE, f"dist/{wheel.name}", f"dist/{plugin.name}")}
    pack(into / f"deskbridge-{version}-image.tar.gz", f"deskbridge-{version}", recipe, epoch)
    # named and laid out as `helm package` does
    pack(into / f"deskbridge-{version}.tgz", "deskbridge", {"": source / CHART}, epoch)
    _run([sys.executable, "-m", "deploy.sbom", into / f"deskbridge-{version}.cdx.json"], source)
    made = sorted(into.iterdir())
    (into / "SHA256SUMS").write_text(
        "".join(f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}\n" for one in made),
        encoding="ascii",
    )
    return [*(one.name for one in made), "SHA256SUMS"]


def checked_version(source: Path) -> str:
    """Return the version of some sources after checking that all files agree on it.

    Args:
        source: their folder.

    Raises:
        NotReady: if fragments are left, the changelog is not cut, or a file names another version or none.
    """
    version: str = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "version"
    ]
    fragments = [one for one in (source / FOLDER).glob("*") if one.name != "README.md"]
    if fragments:
        raise NotReady(f"run `make changelog`: it moves the {len(fragments)} fragments into CHANGELOG.md")
    headings = re.split(r"(?m)^## (.+)\n", (source / "CHANGELOG.md").read_text(encoding="utf-8"))
    versions = dict(zip(headings[1::2], headings[2::2], strict=True))
    if versions.pop("Unreleased", "").strip():
        raise NotReady(f"cut CHANGELOG.md: what is under Unreleased goes under `## {version} - YYYY-MM-DD`")
    if not re.fullmatch(rf"{re.escape(version)} - \d{{4}}-\d\d-\d\d", next(iter(versions), "")):
        raise NotReady(f"CHANGELOG.md has no `## {version} - YYYY-MM-DD` as its newest version")
    if not re.search(
        rf"(?m)^### {re.escape(version)}$", (source / "docs/how-to/upgrade.md").read_text(encoding="utf-8")
    ):
        raise NotReady(f"docs/how-to/upgrade.md has no notes for {version}")
    chart = (source / CHART / "Chart.yaml").read_text(encoding="utf-8")
    if set(re.findall(r"(?m)^(?:version|appVersion): \"?([^\"\n]+)", chart)) != {version}:
        raise NotReady(f"{CHART}/Chart.yaml is not of {version}")
    return version


def plugin_archive(source: Path, into: Path, epoch: int) -> Path:
    """Build the archive to unpack in GLPI's `plugins/`, named after the plugin's own version.

    Args:
        source: the folder of some sources.
        into: folder of the archive.
        epoch: the time of every file, in seconds.

    Raises:
        NotReady: if the plugin names no version.
    """
    setup = (source / PLUGIN / "setup.php").read_text(encoding="utf-8")
    found = re.search(r"'PLUGIN_DESKBRIDGE_VERSION', '([^']+)'", setup)
    if found is None:
        raise NotReady(f"{PLUGIN}/setup.php names no version")
    into.mkdir(parents=True, exist_ok=True)
    archive = into / f"deskbridge-glpi-plugin-{found[1]}.tar.gz"
    pack(archive, "deskbridge", {"": source / PLUGIN}, epoch)
    return archive


def pack(archive: Path, top: str, content: dict[str, Path], epoch: int) -> None:
    """Write a reproducible archive.

    Args:
        archive: the file, .tgz or .tar.gz.
        top: the folder in it.
        content: files and folders, by their paths in `top`.
        epoch: the time of every file, in seconds.
    """
    files = {
        str(Path(top, place, one.relative_to(path))): one
        for place, path in content.items()
        for one in ([path] if path.is_file() else path.rglob("*"))
        if one.is_file() and not IGNORED & set(one.parts)
    }
    with (
        archive.open("wb") as raw,
        gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as made,
    ):
        for name, file in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = file.stat().st_size, epoch
            entry.mode = 0o755 if file.stat().st_mode & 0o100 else 0o644
            made.addfile(entry, io.BytesIO(file.read_bytes()))


def _sources(into: Path) -> Path:
    """Unpack the last commit."""
    packed = subprocess.run(
        ["/usr/bin/git", "archive", "--format=tar", "HEAD"], cwd=ROOT, capture_output=True, check=True
    )
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as sources:
        sources.extractall(into, filter="data")
    return into


def _packages(source: Path, epoch: int) -> tuple[Path, Path]:
    """Build the wheel and the sdist into the sources' dist/."""
    build = "from setuptools import build_meta as b; print(b.build_wheel('dist'), b.build_sdist('dist'))"
    wheel, sdist = _run([sys.executable, "-c", build], source).splitlines()[-1].split()
    built = source / "dist" / sdist
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(built) as packed:
            packed.extractall(folder, filter="data")
        (top,) = Path(folder).iterdir()
        pack(built, top.name, {"": top}, epoch)
    return source / "dist" / wheel, built


def _epoch() -> int:
    return int(os.environ.get(EPOCH) or _git("log", "-1", "--format=%ct"))


def _git(*arguments: str) -> str:
    return _run(["/usr/bin/git", *arguments], ROOT).strip()


def _run(command: Iterable[str | Path], directory: Path) -> str:
    ended = subprocess.run([*command], cwd=directory, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise NotReady(f"{' '.join(map(str, command))}: {ended.stderr[-2000:]}")
    return ended.stdout


if __name__ == "__main__":
    sys.exit(main())
