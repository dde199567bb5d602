"""A release needs one version everywhere, a changelog section, notes and a clean tree; archives are reproducible."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from deploy.release import NotReady, checked_version, pack, plugin_archive
from tests.support.releases import ROOT, UNRELEASED, committed, cut, git, version


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("CHANGELOG.md", UNRELEASED, f"{UNRELEASED}\n- Something.\n", "cut CHANGELOG.md"),
        ("CHANGELOG.md", f"## {version()} - 2026-01-05", "## 0.0.1 - 2026-01-05", "as its newest version"),
        ("CHANGELOG.md", f"## {version()} - 2026-01-05", f"## {version()}", "as its newest version"),
        ("docs/how-to/upgrade.md", f"### {version()}", "### 0.0.1", f"no notes for {version()}"),
        ("deploy/helm/deskbridge/Chart.yaml", f"version: {version()}", "version: 0.0.1", "is not of"),
    ],
)
def test_what_is_not_ready_is_refused(tmp_path: Path, file: str, old: str, new: str, said: str) -> None:
    for name in (
        "pyproject.toml",
        "CHANGELOG.md",
        "docs/how-to/upgrade.md",
        "deploy/helm/deskbridge/Chart.yaml",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(
            cut(text, version()) if name == "CHANGELOG.md" else text, encoding="utf-8"
        )
    assert checked_version(tmp_path) == version()
    text = (tmp_path / file).read_text(encoding="utf-8")
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(NotReady, match=re.escape(said)):
        checked_version(tmp_path)


def test_what_is_not_committed_is_not_released(tmp_path: Path) -> None:
    tree = committed(tmp_path)
    (tree / "README.md").write_text("Changed.", encoding="utf-8")
    ended = run_in(tree, sys.executable, "-m", "deploy.release")
    assert ended.returncode == 1
    assert "commit first" in ended.stderr


@pytest.mark.parametrize("lacks", ["a fragment is left", "the changelog is not cut"])
def test_what_cannot_be_released_yet_loses_no_file(tmp_path: Path, lacks: str) -> None:
    tree = committed(tmp_path)
    (tree / "dist").mkdir()
    (tree / "dist" / "kept.whl").touch()
    fragment = tree / "changelog.d" / "1.added.md"
    if lacks == "a fragment is left":
        fragment.write_text("- New.\n", encoding="utf-8")
    else:
        changelog = (tree / "CHANGELOG.md").read_text(encoding="utf-8")
        changed = changelog.replace(UNRELEASED, f"{UNRELEASED}\n### Added\n- New.\n", 1)
        (tree / "CHANGELOG.md").write_text(changed, encoding="utf-8")
    git(tree, "add", "--all")
    git(tree, "commit", "-q", "-m", "not ready")
    ended = run_in(tree, sys.executable, "-m", "deploy.release")
    assert ended.returncode == 1
    assert ("make changelog" if fragment.exists() else "cut CHANGELOG.md") in ended.stderr
    assert git(tree, "status", "--porcelain", "--untracked-files=no") == ""
    assert [one.name for one in (tree / "dist").iterdir()] == ["kept.whl"]


def test_the_plugin_and_the_changelog_are_made_without_an_environment(tmp_path: Path) -> None:
    tree = committed(tmp_path)
    (tree / "changelog.d" / "1.added.md").write_text("- New entry.\n", encoding="utf-8")
    for target in ("plugin", "changelog"):
        ended = run_in(tree, "make", f"PYTHON={sys.executable}", target)
        assert ended.returncode == 0, ended.stderr
    assert list((tree / "dist").glob("deskbridge-glpi-plugin-*.tar.gz"))
    assert "- New entry." in (tree / "CHANGELOG.md").read_text(encoding="utf-8")
    assert not (tree / ".venv").exists()


def run_in(tree: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a tree."""
    env = {**os.environ, "PYTHONPATH": str(tree)}
    return subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, check=False)


def test_an_archive_is_the_same_whatever_the_files_are_called_after_and_whoever_owns_them(
    tmp_path: Path,
) -> None:
    for number, mode in enumerate((0o644, 0o600)):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name in ("b", "a")[:: 1 - 2 * number]:
            (folder / name).write_text(name, encoding="utf-8")
            (folder / name).chmod(mode)
            os.utime(folder / name, (number, number))
        pack(tmp_path / f"{number}.tgz", "top", {"": folder}, 1_000_000)
    assert (tmp_path / "0.tgz").read_bytes() == (tmp_path / "1.tgz").read_bytes()


def test_the_plugin_s_archive_unpacks_to_the_folder_that_glpi_looks_for(tmp_path: Path) -> None:
    archive = plugin_archive(ROOT, tmp_path, 1_000_000)
    assert re.fullmatch(r"deskbridge-glpi-plugin-\d+\.\d+\.\d+\.tar\.gz", archive.name)
    with tarfile.open(archive) as packed:
        names = set(packed.getnames())
    expected = {"setup.php", "hook.php", "LICENSE", "README.md", "CHANGELOG.md", "plugin.xml", "logo.png"}
    assert {f"deskbridge/{name}" for name in (*expected, "locales/deskbridge.pot")} <= names
    assert all(name.startswith("deskbridge/") for name in names)


def test_a_plug_in_that_names_no_version_is_not_packed(tmp_path: Path) -> None:
    (tmp_path / "deploy/glpi-plugin/deskbridge").mkdir(parents=True)
    (tmp_path / "deploy/glpi-plugin/deskbridge/setup.php").write_text("<?php")
    with pytest.raises(NotReady, match="names no version"):
        plugin_archive(tmp_path, tmp_path, 0)
