"""Changelog fragments are merged into the changelog by kind; if one is wrong, nothing changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.changelog import FOLDER, BadFragment, assemble

CHANGELOG = (
    "# Changelog\n\n## Unreleased\n\n### Added\n- Old.\n\n## 0.1.0 - 2026-01-05\n\n### Fixed\n- Older.\n"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "README.md").write_text("How.", encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, encoding="utf-8")
    return tmp_path


def test_fragments_go_under_unreleased_by_their_kind(root: Path) -> None:
    for name, text in {"1.added.md": "- New.\n", "2.fixed.md": "- Mended.\n", "3.fixed.md": "- Too."}.items():
        (root / FOLDER / name).write_text(text, encoding="utf-8")
    assert assemble(root) == 3
    assert (root / "CHANGELOG.md").read_text(encoding="utf-8") == CHANGELOG.replace(
        "### Added\n- Old.\n", "### Added\n- New.\n- Old.\n\n### Fixed\n- Mended.\n- Too.\n"
    )
    assert [one.name for one in (root / FOLDER).iterdir()] == ["README.md"]
    assert assemble(root) == 0


@pytest.mark.parametrize(
    ("name", "text"), [("1.better.md", "- New."), ("1.md", "- New."), ("1.added.md", "New.")]
)
def test_a_wrong_fragment_is_refused_and_nothing_changes(root: Path, name: str, text: str) -> None:
    (root / FOLDER / "0.added.md").write_text("- Right.", encoding="utf-8")
    (root / FOLDER / name).write_text(text, encoding="utf-8")
    with pytest.raises(BadFragment, match=name):
        assemble(root)
    assert (root / "CHANGELOG.md").read_text(encoding="utf-8") == CHANGELOG
    assert (root / FOLDER / "0.added.md").exists()
