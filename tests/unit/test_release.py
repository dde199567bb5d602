"""What can be released: one version everywhere, a changelog that is cut, notes, nothing uncommitted; equal archives."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.release import NotReady, checked_version, pack
from tests.support.releases import ROOT, UNRELEASED, committed, cut, version


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("CHANGELOG.md", UNRELEASED, f"{UNRELEASED}\n- Something.\n", "cut CHANGELOG.md"),
        ("CHANGELOG.md", f"## {version()} - 2026-01-05", "## 0.0.1 - 2026-01-05", "as its newest version"),
        ("CHANGELOG.md", f"## {version()} - 2026-01-05", f"## {version()}", "as its newest version"),
        ("docs/upgrade.md", f"### {version()}", "### 0.0.1", f"no notes for {version()}"),
        ("deploy/helm/deskbridge/Chart.yaml", f"version: {version()}", "version: 0.0.1", "is not of"),
    ],
)
def test_what_is_not_ready_is_refused(tmp_path: Path, file: str, old: str, new: str, said: str) -> None:
    for name in ("pyproject.toml", "CHANGELOG.md", "docs/upgrade.md", "deploy/helm/deskbridge/Chart.yaml"):
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
    program = [sys.executable, "-m", "deploy.release"]
    ended = subprocess.run(
        program,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "commit first" in ended.stderr


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
