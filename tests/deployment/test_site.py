"""The documentation as a site: it builds strictly, every link and anchor works, and pages load nothing external."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.deployment.conftest import ROOT, leave_out

pytestmark = [pytest.mark.deploy, pytest.mark.timeout(600)]

FETCHED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?([^\"' >]+)|<link\b[^>]*\bhref=[\"']?([^\"' >]+)"
)
IN_A_STYLE = re.compile(r"url\([\"']?((?:https?:)?//[^)]*)")


def make(target: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["/usr/bin/make", target], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site() -> Path:
    """The built site; skips if its tools cannot be downloaded."""
    tools = make("build/site-tools/.installed")
    if tools.returncode:
        leave_out(f"the site's tools cannot be installed: {tools.stderr.strip()[-300:]}")
    built = make("site")
    assert built.returncode == 0, built.stdout + built.stderr
    return ROOT / "build" / "site"


def test_the_site_has_a_page_of_every_chapter(site: Path) -> None:
    for page in (
        "index",
        "how-to/install",
        "explanation/guarantees",
        "how-to/failed-and-held",
        "reference/settings",
        "contributing/decisions/index",
        "knowledge/KB-WORK-004",
    ):
        assert "<h1" in (site / f"{page}.html").read_text(encoding="utf-8"), page


def test_a_reader_s_browser_fetches_nothing_from_elsewhere(site: Path) -> None:
    fetched = {
        (page.name, found)
        for page in site.rglob("*.html")
        for pair in FETCHED.findall(page.read_text(encoding="utf-8"))
        for found in pair
        if re.match(r"(https?:)?//", found)
    }
    assert fetched == set()
    for style in site.rglob("*.css"):
        assert not IN_A_STYLE.search(style.read_text(encoding="utf-8")), style


def test_every_list_and_table_is_one_also_to_mkdocs_which_wants_more_blank_lines_than_others(
    site: Path,
) -> None:
    left = re.compile(r"<(?:p|li)>(?:[^<]|<(?!/?(?:p|li|ul|ol|pre|div)\b))*\n\s*(?:\d+\. |- |\| |\* |```)")
    for page in site.rglob("*.html"):
        assert not left.search(page.read_text(encoding="utf-8")), page
