"""The docs match the code: the things they name exist, and the commands they show are run by tests."""

from __future__ import annotations

import ast
import re
import shlex
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import typer

from deploy.site import pages, reference
from producer.cli.main import app
from shared.events.config import PluginConfig
from shared.events.event import Event
from shared.events.snapshots import HelpdeskUser, Ticket, TicketTask
from shared.notices.notice import CODES, Plural
from shared.process.settings import Settings
from tests.support import documents, promises
from tests.support.documents import PAGES, ROOT, blocks, documented, headings, page_name
from tests.support.documents import run_by_tests as asked_for

LANGUAGES = {"sh", "text", "json", "ini"}
COMMAND: Any = typer.main.get_command(app)
UsageError: Any = typer.BadParameter.__base__
GROUPS = "|".join(name for name, one in COMMAND.commands.items() if hasattr(one, "commands"))
TYPED = re.compile(r"(?:^|\b(?:console|producer) |-- |&& |bin/)deskbridge ([^\"(][^;]*)")
PLACEHOLDER = re.compile(r"^[A-Z][A-Z_]*(?=…?$)")
"""Placeholders for numbers or names, as in `deskbridge user map GLPI_USER_ID REDMINE_USER_ID`."""
KNOWLEDGE = {"knowledge/README.md", "knowledge/KB-*.md"}
GENERATED = [page for page in reference.pages() if reference.PART.search(page.read_text(encoding="utf-8"))]
SITE = (ROOT / "deploy" / "site" / "nav.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("model", [Settings, PluginConfig, Event, Ticket, TicketTask, HelpdeskUser])
def test_every_field_says_what_it_means_since_the_reference_is_made_of_it(model: type[Any]) -> None:
    unexplained = {name for name, field in model.model_fields.items() if not field.description}
    assert unexplained - {"ticket", "deleted", "incomplete"} == set()


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("settings", "| `DATABASE_URL` | `sqlite:///var/deskbridge.sqlite3` | SQLAlchemy URL"),
        ("settings", "| `SECRET_KEYS` | none | "),
        ("settings", "| `EVENT_LIMIT` | `200` | "),
        ("plugin config", "| `status_map` | `{}` | "),
        ("metrics", "| `deskbridge_events_accepted_total` |  | producer | Events committed to the journal |"),
        ("metrics", "| `deskbridge_rings_waiting` |  | worker | "),
        ("alerts", "| `DeskbridgeNoBeat` | warning | 5m | No beat is running. | Workers do the sweep "),
        (
            "knowledge records",
            "| [KB-COMMAND-001](/producer/admin/knowledge/records/KB-COMMAND-001.md) | A value ",
        ),
        ("decisions", "- [1. A queue message"),
        ("event", "| `ticket.technician.email` | text |  | "),
        ("event", "| `ticket.technician.emails` | list of texts |  | "),
        ("event", "| `ticket.groups` | list of objects |  | "),
        ("event", "| `occurred_at` | text | required | "),
        ("operations", "| `project.create` | `project` | the project form |"),
        ("filters", "| `truncate: length [mark]` | "),
        ("conditions", "| `eq other` | "),
        ("variables of a ticket", "| `ticket.title` | text | "),
        ("variables of the form", "| `form.parent_id` | integer or null | "),
        ("commands", "deskbridge mapping add [OPTIONS] {KIND} {ID} {REDMINE_PROJECT_ID}"),
        ("commands", "* `--replay`: Also process events that were skipped because this mapping was missing."),
        ("commands", "deskbridge mapping add project 12 4 --category 7"),
        ("commands", "### template rollback"),
        ("producer", "| `POST /events` | "),
        ("console", "| `GET /api/links` | "),
        ("codes", "| `no_link` | "),
    ],
)
def test_the_reference_says_what_the_code_knows(name: str, row: str) -> None:
    said = reference.PARTS[name]()
    assert any(line.startswith(row) for line in said.splitlines()), said[:2000]


def test_the_reference_has_no_markup_of_the_terminal_and_no_command_without_its_help() -> None:
    said = reference.PARTS["commands"]()
    assert not re.search(r"\[/?(bold|cyan)|&#x27;|\*\*Commands", said)
    for name in COMMAND.list_commands(None):
        assert re.search(rf"^## {name}\n\n\w", said, re.MULTILINE), name


def test_every_generated_part_stands_on_one_page() -> None:
    found = [name for page in PAGES for name in reference.PART.findall(page.read_text(encoding="utf-8"))]
    assert sorted(found) == sorted(reference.PARTS)


@pytest.mark.parametrize("page", GENERATED, ids=page_name)
def test_the_generated_parts_of_a_page_are_as_the_code_is(page: Path) -> None:
    is_current = page.read_text(encoding="utf-8") == reference.filled(page)
    assert is_current, f"{page_name(page)} is out of date: run `make reference` and commit what it changes"


def test_the_reference_names_no_path_of_the_machine_that_generated_it() -> None:
    text = "".join(reference.filled(page) for page in GENERATED)
    assert str(ROOT) not in text


def test_the_site_leads_to_what_stands_beside_its_documents(tmp_path: Path) -> None:
    pages.write(tmp_path)
    assert "](documentation.md)" in (tmp_path / "index.md").read_text(encoding="utf-8")
    assert "](knowledge/README.md)" in (tmp_path / "documentation.md").read_text(encoding="utf-8")
    assert "](../reference/events.md)" in (tmp_path / "how-to" / "connect-other.md").read_text(
        encoding="utf-8"
    )
    assert "`{{ticket.title | trim | truncate: 200}}`" in (tmp_path / "reference" / "templates.md").read_text(
        encoding="utf-8"
    )


def test_every_page_is_in_a_chapter_of_the_site() -> None:
    listed = re.findall(r"- ([\w/*-]+\.md)$", SITE, re.MULTILINE)
    for page in documents.DOCS.rglob("*.md"):
        name = pages.BESIDE.get(f"docs/{page_name(page)}", page_name(page))
        assert any(fnmatch(name, pattern) for pattern in listed), f"deploy/site/nav.yml: {name}"
    for pattern in listed:
        assert list(documents.DOCS.glob(pattern)) or pattern in {*pages.BESIDE.values(), *KNOWLEDGE}, (
            f"deploy/site/nav.yml: {pattern}"
        )


def test_the_example_environment_lists_every_setting() -> None:
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    assert set(re.findall(r"DESKBRIDGE_([A-Z_]+)=", example)) == {
        name.upper() for name in Settings.model_fields
    }


def listed(group: Any) -> set[str]:
    """Return a group's commands without the hidden ones, which are names from the previous release."""
    return {name for name, command in group.commands.items() if not command.hidden}


def test_every_command_and_option_that_a_page_names_exists() -> None:
    for page, line in ((page_name(one), line) for one in PAGES for line in _commands(one)):
        words = shlex.split(re.split(r" [<>|] ", line)[0], comments=True)
        command = COMMAND
        while hasattr(command, "commands") and words and not words[0].startswith("-"):
            assert words[0] in listed(command) or words[0].isupper(), (page, line)
            command = command.commands.get(words.pop(0), command)
            if not hasattr(command, "commands"):
                break
        known = {option for one in command.params for option in one.opts} | {"--help", "--version"}
        assert {word for word in words if word.startswith("--")} <= known, (page, line)


def test_every_command_of_a_page_is_accepted_with_its_arguments() -> None:
    for page, line in ((page_name(one), line) for one in PAGES for line in _commands(one)):
        words = shlex.split(re.split(r" [<>|] ", f"{line} ")[0], comments=True)
        command: Any = COMMAND
        while hasattr(command, "commands") and words and words[0] in command.commands:
            command = command.commands[words.pop(0)]
        if not words or "…" in words or words == ["--version"] or hasattr(command, "commands"):
            continue  # the page only names the command
        try:
            command.make_context(line, [PLACEHOLDER.sub("1", word) for word in words])
        except UsageError as refused:
            raise AssertionError((page, line, refused.format_message())) from refused


def test_every_command_that_a_message_names_exists() -> None:
    for notice in CODES.values():
        texts = (notice.text.one, notice.text.many) if isinstance(notice.text, Plural) else (notice.text,)
        for line in re.findall(r"`deskbridge ([^`]+)`", " ".join(map(str, (*texts, notice.why or "")))):
            first, *rest = line.split()
            assert first in listed(COMMAND), (notice, line)
            command = COMMAND.commands[first]
            assert not hasattr(command, "commands") or not rest or rest[0] in listed(command), (notice, line)


def _commands(page: Path) -> list[str]:
    text = reference.PART.sub("", page.read_text(encoding="utf-8"))
    lines = [
        line
        for one in blocks(page)
        if one.language == "sh"
        for line in one.text.replace("\\\n", "").split("\n")
    ]
    prose = re.sub(r"(?ms)^( *)```.*?^\1```$", "", text)
    named = [" ".join(one.split()) for one in re.findall(r"`deskbridge\s+([^`]+)`", prose)]
    short = [" ".join(one.split()) for one in re.findall(rf"`((?:{GROUPS})\s+[a-z][^`]*)`", prose)]
    typed = [found[1] for line in lines if (found := TYPED.search(line))]
    return [*named, *short, *typed]


def test_code_is_fenced_and_says_of_what_it_is() -> None:
    for page in PAGES:
        assert {one.language for one in blocks(page)} <= LANGUAGES, page
        outside = re.sub(r"(?ms)^( *)```.*?^\1```$", "", page.read_text(encoding="utf-8"))
        assert not re.findall(r"\n\n {4,}(?:[a-z./]+ |DESKBRIDGE_|\{)", outside), page


def test_every_command_of_the_documents_is_run_by_a_test_or_says_that_it_is_not() -> None:
    to_be_run = {one.name for page in PAGES for one in blocks(page) if one.is_run}
    asked = asked_for()
    assert to_be_run - asked == set(), 'no test runs them: documented("…"), or title="not run: why"'
    assert asked - to_be_run == set(), "no page has them"
    for one in [one for page in PAGES for one in blocks(page) if one.title]:
        assert one.title.startswith(documents.NOT_RUN), one.name


def test_the_tutorial_types_what_the_how_tos_type() -> None:
    install, commands = (documented(f"how-to/install.md#{part}") for part in ("start", "commands"))
    assert documented("tutorial.md#1-start-deskbridge") == install
    assert documented("tutorial.md#5-send-a-test-event") == commands + documented("how-to/install.md#verify")


def test_every_how_to_says_how_to_verify_its_result() -> None:
    how_tos = [*(documents.DOCS / "how-to").glob("*.md")]
    assert how_tos
    assert [page_name(page) for page in how_tos if "verify" not in headings(page)] == []


def test_the_glossary_is_short() -> None:
    glossary = (documents.DOCS / "reference" / "glossary.md").read_text(encoding="utf-8")
    assert 10 < len(re.findall(r"^\*\*", glossary, re.MULTILINE)) <= 20


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    for page in [*PAGES, ROOT / "CHANGELOG.md"]:
        for target, heading in re.findall(r"\]\(([^)#:]*)#?([^):]*)\)", page.read_text(encoding="utf-8")):
            there = page.parent / target if target else page
            assert there.exists(), (page, target)
            assert not heading or heading in headings(there), (page, target, heading)


def test_every_file_that_a_page_names_exists() -> None:
    named = re.compile(r"`((?:worker|producer|shared|deploy(?!/container/secrets)|tests)/[\w/.]+)`")
    for page in documents.DOCS.rglob("*.md"):
        for name in named.findall(page.read_text(encoding="utf-8")):
            assert (ROOT / name).exists(), (page_name(page), name)


def test_every_room_has_its_line_in_the_architecture() -> None:
    rooms = {
        f"{path.parent.relative_to(ROOT)}/"
        for side in ("worker", "producer", "shared")
        for path in (ROOT / side).rglob("*.py")
        if path.stem != "__init__"
    } - {"producer/admin/migrations/versions/"}
    page = (ROOT / "docs" / "contributing" / "architecture.md").read_text("utf-8")
    listed = re.findall(r"^\| `([\w/]+/)` \| (.+) \|$", page, re.MULTILINE)
    assert sorted(rooms) == sorted(room for room, _ in listed)
    assert [room for room, purpose in listed if " and " in purpose] == [], "a room of two subjects"


def test_every_test_that_a_page_names_exists() -> None:
    for page in PAGES:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text(encoding="utf-8"))
        for file, test in named:
            module = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            assert test in {one.name for one in module.body if isinstance(one, ast.FunctionDef)}, (
                f"{page}: {file}::{test}"
            )


def test_every_promise_is_held_by_a_test_and_every_marker_names_one() -> None:
    made, held = promises.promises(), promises.tests()
    assert len(made) > 70
    assert set(made) - set(held) == set(), "no test carries their marker: @pytest.mark.promise"
    assert set(held) - set(made) == set(), "no page makes them"


def test_every_row_of_a_table_of_promises_has_a_name() -> None:
    text = promises.PAGE.read_text(encoding="utf-8")
    tables = [part.split("\n\n")[0] for part in text.split("| | promise |\n|---|---|\n")[1:]]
    assert tables
    for line in "\n".join(tables).splitlines():
        assert promises.ROW.fullmatch(line), line
    assert "| promise | test |" not in text, "tests name promises, not the other way round"
