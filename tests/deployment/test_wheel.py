"""The wheel contains the product and nothing else, and runs with only its declared dependencies."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from deploy.sandbox.tracker.control import StandIn
from tests.support.documents import documented, instead
from tests.support.events import task_event
from tests.support.fleet import ROOT, Fleet

pytestmark = [pytest.mark.wheel, pytest.mark.timeout(400)]

PRODUCT = ("producer", "shared", "worker")
SOURCES = (*PRODUCT, "setup.py", "pyproject.toml", "README.md", "LICENSE")
LOCK = ROOT / "requirements-runtime.lock"
INSTALL = (sys.executable, "-m", "uv", "pip", "install", "--quiet")
CATALOGUE, COMPILED = ".po", ".mo"
"""A language's texts, and the file that the build compiles from them for the pages."""


def run(*command: str | Path, cwd: Path) -> str:
    """Run a program, which must succeed; return its output."""
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the sources, since building leaves files behind."""
    source = tmp_path_factory.mktemp("source")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", f"*{COMPILED}")
            )
        else:
            shutil.copy(ROOT / name, source / name)
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    run(*pip, "--wheel-dir", source / "dist", source, cwd=source)
    (built,) = (source / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a venv with the wheel and the packages of the run-time lock, verified by their hashes."""
    directory = tmp_path_factory.mktemp("venv")
    venv.create(directory)
    found = directory / "bin" / "python"
    run(*INSTALL, "--compile-bytecode", "--python", found, "--require-hashes", "-r", LOCK, cwd=directory)
    run(*INSTALL, "--python", found, "--no-deps", wheel, cwd=directory)
    return found


def test_the_wheel_holds_the_product_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
    top = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert top == set(PRODUCT)
    shipped = {name for name in names if ".dist-info/" not in name}
    needed = {
        str((file.with_suffix(COMPILED) if file.suffix == CATALOGUE else file).relative_to(ROOT))
        for package in PRODUCT
        for file in (ROOT / package).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert needed - shipped == set(), "what is not code is shipped as well"


def test_it_needs_nothing_that_the_lock_does_not_name(python: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "uv", "pip", "check", "--python", python, cwd=tmp_path)
    said = run(python.parent / "deskbridge", "--version", cwd=tmp_path)
    assert said == f"deskbridge {version('deskbridge')}\n"


def test_a_lock_with_the_extras_has_what_they_need_and_all_else_as_it_was(
    wheel: Path, tmp_path: Path
) -> None:
    lock, site = tmp_path / "requirements-runtime.lock", tmp_path / "site"
    shutil.copy(LOCK, lock)
    made = instead(
        documented("how-to/install-extras.md#extras"),
        (".venv/bin/uv", f"{sys.executable} -m uv"),
        ("--output-file requirements-runtime.lock", f"--quiet --output-file {lock}"),
    )
    run("/bin/bash", "-euc", made, cwd=ROOT)
    pinned = [set(re.findall(r"(?m)^[a-z].*==\S+", one.read_text(encoding="utf-8"))) for one in (LOCK, lock)]
    assert pinned[0] < pinned[1]
    run(*INSTALL, "--target", site, "--require-hashes", "-r", lock, cwd=tmp_path)
    run(*INSTALL, "--target", site, "--no-deps", wheel, cwd=tmp_path)
    loads = "import joserfc, sentry_sdk, shared.telemetry.opentelemetry as one; print(one.__file__)"
    said = run(
        sys.executable, "-S", "-c", f"import sys; sys.path.append({str(site)!r}); {loads}", cwd=tmp_path
    )
    assert said.startswith(str(site)), "nothing of this venv"


@pytest.fixture
def fleet(tmp_path: Path, python: Path, postgres_url: str, redis_url: str) -> Iterator[Fleet]:
    """Producer, worker and beat from the wheel, started in a folder without sources."""
    with StandIn(in_process=True) as stand_in:
        made = Fleet(tmp_path, postgres_url, redis_url, stand_in, python=python)
        try:
            yield made.start(workers=1)
        finally:
            made.stop()


def test_it_forwards_an_event(fleet: Fleet) -> None:
    fleet.send([("one", task_event())])
    fleet.wait_until_synced(60)
    assert fleet.states() == {"done": 1}, fleet.logs()
    assert len(fleet.stand_in.state()["time_entries"]) == 1
    assert all(child.alive for child in fleet.processes.members), fleet.logs()
