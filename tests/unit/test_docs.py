"""The documentation says what the code does: every setting, key, command and file that it names exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from pydantic import SecretStr

from producer.commands.main import app
from shared.config import PluginConfig
from shared.settings import Settings
from tests.support import promises

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def rows(heading: str) -> dict[str, str]:
    """Return the first table under a heading: first column to second."""
    section = CONFIGURATION.split(f"## {heading}\n")[1].split("\n## ")[0]
    cells = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| ")]
    return {name.strip(): default.strip().strip("`") for name, default in cells[1:]}


def test_every_setting_is_documented_and_nothing_else() -> None:
    assert set(rows("Settings")) == {name.upper() for name in Settings.model_fields}


def test_documented_defaults_of_numbers_are_the_real_ones() -> None:
    documented = rows("Settings")
    for name, field in Settings.model_fields.items():
        if isinstance(field.default, (int, float)) and not isinstance(field.default, bool):
            assert float(documented[name.upper()]) == field.default, name


@pytest.mark.parametrize("name", ["database_url", "redis_url"])
def test_documented_defaults_of_addresses_are_the_real_ones(name: str) -> None:
    default = Settings.model_fields[name].default
    assert isinstance(default, SecretStr)
    assert rows("Settings")[name.upper()] == default.get_secret_value()


def test_every_configuration_key_is_documented_and_nothing_else() -> None:
    assert set(rows("Plugin config")) == set(PluginConfig.model_fields)


def test_the_example_environment_lists_every_setting() -> None:
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    assert set(re.findall(r"DESKBRIDGE_([A-Z_]+)=", example)) == {
        name.upper() for name in Settings.model_fields
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_a_page_names_exists(page: Path) -> None:
    import typer

    known = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    named = set(re.findall(r"`?deskbridge ([a-z-]+)", "\n".join(_code(page.read_text(encoding="utf-8")))))
    assert named <= known, named - known


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", ["architecture", "operations"])
def test_every_file_that_a_page_names_exists(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    for name in re.findall(r"`((?:worker|producer|shared|deploy|tests)/[\w/.]+)`", text):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_a_page_names_exists(page: Path) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text(encoding="utf-8"))
    for file, test in named:
        module = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert test in {one.name for one in module.body if isinstance(one, ast.FunctionDef)}, (
            f"{file}::{test}"
        )


def test_every_promise_is_held_by_a_test_and_every_marker_names_one() -> None:
    made, held = promises.promises(), promises.tests()
    assert len(made) > 70
    assert set(made) - set(held) == set(), "no test carries their marker: @pytest.mark.promise"
    assert set(held) - set(made) == set(), "no page makes them"


@pytest.mark.parametrize("page", promises.PAGES)
def test_every_row_of_a_table_of_promises_has_a_name(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    tables = [part.split("\n\n")[0] for part in text.split("| | promise |\n|---|---|\n")[1:]]
    assert tables
    for line in "\n".join(tables).splitlines():
        assert promises.ROW.fullmatch(line), line
    assert "| promise | test |" not in text, "tests name promises, not the other way round"


def _code(text: str) -> list[str]:
    return [*re.findall(r"`([^`\n]+)`", text), *re.findall(r"^ {4,}(.+)$", text, re.MULTILINE)]
