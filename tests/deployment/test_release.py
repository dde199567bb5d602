"""`make release` builds the same bytes from one commit, wherever and whenever. `make test-deploy DEPLOYED=release`."""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.deployment.conftest import leave_out, run
from tests.support.releases import committed, version

pytestmark = [pytest.mark.deploy, pytest.mark.timeout(600)]


def released(tree: Path, **environment: str) -> Path:
    """Build a release of a tree; return its folder."""
    program = (sys.executable, "-m", "deploy.release")
    run({**os.environ, **environment, "PYTHONPATH": str(tree)}, *program, cwd=tree)
    return tree / "dist"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of this tree."""
    if not shutil.which("dpkg-deb"):
        leave_out("a release: its package for Debian is built on Debian")
    return released(committed(tmp_path_factory.mktemp("one")))


def test_two_releases_of_one_commit_are_equal(release: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "a longer way" / "to the same"
    elsewhere.mkdir(parents=True)
    strange = {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
    before = os.umask(0o077)
    try:
        again = released(committed(elsewhere), **strange)
    finally:
        os.umask(before)
    sums = (release / "SHA256SUMS").read_text(encoding="ascii")
    assert (again / "SHA256SUMS").read_text(encoding="ascii") == sums


def test_everything_is_there_and_what_the_sums_say(release: Path) -> None:
    number = version()
    names = [
        one.partition("  ")[2] for one in (release / "SHA256SUMS").read_text(encoding="ascii").splitlines()
    ]
    assert names == sorted(one.name for one in release.iterdir() if one.name != "SHA256SUMS")
    (package,) = (one for one in names if one.endswith(".deb"))
    assert package.startswith(f"deskbridge_{number}+deb")
    (plugin,) = (one for one in names if one.startswith("deskbridge-glpi-plugin-"))
    assert {*names} - {package, plugin} == {
        f"deskbridge-{number}-py3-none-any.whl",
        f"deskbridge-{number}.tar.gz",
        f"deskbridge-{number}-image.tar.gz",
        f"deskbridge-{number}.tgz",
        f"deskbridge-{number}.cdx.json",
    }
    run({**os.environ}, "/usr/bin/sha256sum", "--check", "--strict", "SHA256SUMS", cwd=release)
    with tarfile.open(release / f"deskbridge-{number}.tgz") as chart:
        assert {"deskbridge/Chart.yaml", "deskbridge/values.schema.json"} <= set(chart.getnames())
    with tarfile.open(release / f"deskbridge-{number}-image.tar.gz") as recipe:
        assert f"deskbridge-{number}/dist/{plugin}" in recipe.getnames()
    contents = run({**os.environ}, "/usr/bin/dpkg-deb", "--contents", release / package)
    assert f"./usr/share/deskbridge/{plugin}" in contents


def test_the_sdist_makes_the_same_wheel(release: Path, tmp_path: Path) -> None:
    number = version()
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    run({**os.environ}, *pip, "--wheel-dir", tmp_path, release / f"deskbridge-{number}.tar.gz")
    (again,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(release / again.name) as first, zipfile.ZipFile(again) as second:
        assert {one.filename: one.CRC for one in first.infolist()} == {
            one.filename: one.CRC for one in second.infolist()
        }


def test_an_image_is_made_of_the_recipe_alone(
    release: Path, docker: dict[str, str], base: str, image: str, tmp_path: Path
) -> None:
    number = version()
    with tarfile.open(release / f"deskbridge-{number}-image.tar.gz") as recipe:
        recipe.extractall(tmp_path, filter="data")
    tree = tmp_path / f"deskbridge-{number}"
    file = ("--network=host", "--file", "deploy/container/Dockerfile", "--tag", "deskbridge:released")
    run(docker, "docker", "build", "-q", "--build-arg", f"BASE={base}", *file, ".", cwd=tree)
    said = [
        run(docker, "docker", "run", "--rm", "--network=none", one, "--version")
        for one in (image, "deskbridge:released")
    ]
    assert said == [f"deskbridge {number}\n"] * 2
    assert os.access(tree / "deploy" / "container" / "make-secrets", os.X_OK)
