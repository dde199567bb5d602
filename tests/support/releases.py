"""This tree as for a release: with its changelog cut, in a separate repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from deploy.changelog import assemble

ROOT = Path(__file__).resolve().parents[2]
UNRELEASED = "## Unreleased\n"
AUTHOR = {
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.test",
    "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.test",
    "GIT_AUTHOR_DATE": "2026-01-05T09:00:00Z", "GIT_COMMITTER_DATE": "2026-01-05T09:00:00Z",
}  # fmt: skip


def version() -> str:
    """Return the version of this tree."""
    (found,) = re.findall(r'(?m)^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return str(found)


def cut(changelog: str, newest: str) -> str:
    """Return a changelog with the unreleased entries under a version."""
    assert changelog.count(UNRELEASED) == 1
    return changelog.replace(UNRELEASED, f"{UNRELEASED}\n## {newest} - 2026-01-05\n")


def committed(into: Path) -> Path:
    """Commit this tree, with its changelog cut, to a separate repository; return its directory."""
    tracked = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, tracked.split("\0")):
        if (ROOT / name).exists():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, into / name)
    assemble(into)
    changelog = into / "CHANGELOG.md"
    changelog.write_text(cut(changelog.read_text(encoding="utf-8"), version()), encoding="utf-8")
    for command in (("init", "-q"), ("add", "--all", "--force"), ("commit", "-q", "-m", "a release")):
        git(into, *command)
    return into


def git(tree: Path, *command: str) -> str:
    """Run git in a tree; return its output."""
    ended = subprocess.run(
        ["/usr/bin/git", *command],
        cwd=tree,
        env={**os.environ, **AUTHOR},
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout
