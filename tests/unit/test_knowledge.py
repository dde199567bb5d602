"""Knowledge records (SPEC 2.5): the shape, and our own records."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from producer.admin.doctor import RECORDS
from producer.admin.knowledge import NotARecord, faults_between, faults_of, parse_record
from producer.admin.project_forms import FIELD_RECORD
from producer.commands.main import app

OURS = Path(__file__).resolve().parents[2] / "docs" / "knowledge"
FINE: dict[str, Any] = {
    "id": "KB-TEST-001",
    "title": "Something to know",
    "domain": "process",
    "tags": ["a"],
    "status": "active",
    "severity": "low",
    "created_at": "2026-11-21",
    "updated_at": "2026-11-21",
    "applies_to": ["worker"],
}
TEXT = """---
# a comment
id: KB-TEST-001
title: "Something: to know"
domain: process
tags:
  - one
  - two  # the second
status: active
severity: low
created_at: 2026-11-21
updated_at: 2026-11-21
applies_to: [worker, 'the console']
colour: green
---

# Something

---
Text
"""


def test_a_record_is_read_with_its_body_and_additional_fields() -> None:
    record = parse_record(TEXT)
    assert faults_of(record.metadata) == []
    assert record.metadata["title"] == "Something: to know"
    assert record.metadata["tags"] == ["one", "two"]
    assert record.metadata["applies_to"] == ["worker", "the console"]
    assert record.metadata["colour"] == "green"
    assert record.body.startswith("# Something")
    assert record.body.endswith("Text")


@pytest.mark.parametrize("name", FINE)
def test_every_field_but_the_related_records_is_required(name: str) -> None:
    assert faults_of({key: value for key, value in FINE.items() if key != name}) == [f"{name}: required"]
    assert faults_of(FINE) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", "KB-test-001"),
        ("id", "KB-TEST-01"),
        ("id", "KB-TEST-0011"),
        ("id", "xKB-TEST-001"),
        ("id", "KB-TEST-001\n"),
        ("id", "KB-TEST-٠٠١"),
        ("id", None),
        ("title", "7 chars"),
        ("title", ["Something to know"]),
        ("domain", "devops"),
        ("tags", []),
        ("tags", "a"),
        ("tags", [""]),
        ("tags", None),
        ("status", "Active"),
        ("severity", "urgent"),
        ("created_at", "21.11.2026"),
        ("created_at", "2026-02-30"),
        ("updated_at", "20261121"),
        ("applies_to", []),
        ("related_records", ["KB-X"]),
        ("related_records", "KB-TEST-001"),
    ],
)
def test_what_does_not_fit_the_shape_is_named(name: str, value: Any) -> None:
    assert [fault.partition(":")[0] for fault in faults_of({**FINE, name: value})] == [name]


def test_related_records_may_be_left_out_or_empty_and_a_title_may_have_exactly_eight_characters() -> None:
    assert faults_of({**FINE, "related_records": [], "title": "8 chars."}) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("# No front matter", 1),
        ("---\nid: KB-TEST-001\n", 2),
        ("---\nid KB\n---\n", 2),
        ("---\nid: a\nid: b\n---\n", 3),
        ("---\ntags: [a\n---\n", 2),
        ("---\n- a\n---\n", 2),
        ('---\ntitle: "open\n---\n', 2),
        ("---\nid: a\n  nested: b\n---\n", 3),
        ("---\ntitle: |\n---\n", 2),
        ("---\nmap: {a: b}\n---\n", 2),
    ],
)
def test_front_matter_that_cannot_be_read_is_a_fault_with_its_line(text: str, line: int) -> None:
    with pytest.raises(NotARecord) as fault:
        parse_record(text)
    assert fault.value.line == line


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    for given_text in (text, f"---\n{text}\n---\n"):
        try:
            faults_of(parse_record(given_text).metadata)
        except NotARecord as fault:
            assert fault.line >= 1  # noqa: PT017


def test_records_must_not_share_an_id_and_name_only_records_that_exist() -> None:
    other = {**FINE, "related_records": ["KB-TEST-009", "KB-TEST-001"]}
    assert faults_between([("a.md", FINE), ("b.md", other)]) == [
        ("b.md", "id: KB-TEST-001 is the id of a.md, too"),
        ("b.md", "related_records: there is no KB-TEST-009"),
    ]


def test_our_own_records_are_well_formed() -> None:
    result = CliRunner().invoke(app, ["knowledge", "validate", str(OURS)])
    assert result.exit_code == 0, result.output


def test_every_check_of_the_doctor_has_its_record() -> None:
    records = {path.stem for path in OURS.glob("KB-*.md")}
    assert set(RECORDS.values()) <= records
    assert FIELD_RECORD in records


@pytest.mark.parametrize("path", sorted(OURS.glob("KB-*.md")), ids=lambda path: path.stem)
def test_a_record_is_in_the_file_of_its_id_and_in_the_list(path: Path) -> None:
    record = parse_record(path.read_text(encoding="utf-8"))
    assert record.metadata["id"] == path.stem
    assert f"# {record.metadata['title']}" in record.body
    assert f"[{path.stem}]({path.name}) | {record.metadata['title']} |" in (OURS / "README.md").read_text(
        "utf-8"
    )


def test_every_record_that_the_code_names_exists() -> None:
    root = OURS.parents[1]
    for source in [
        *root.glob("shared/**/*.py"),
        *root.glob("producer/**/*.py"),
        *root.glob("worker/**/*.py"),
    ]:
        for name in re.findall(r"KB-[A-Z]+-[0-9]{3}", source.read_text("utf-8")):
            assert (OURS / f"{name}.md").exists(), (source, name)


def test_validate_names_each_faulty_file_and_exits_with_1(tmp_path: Path) -> None:
    (tmp_path / "fine.md").write_text(TEXT)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "bad.md").write_text(
        TEXT.replace("status: active", "status: asleep").replace("001", "002")
    )
    (tmp_path / "latin.md").write_bytes(b"---\nid: \xff\n---\n")
    (tmp_path / "README.md").write_text("no record")
    result = CliRunner().invoke(app, ["knowledge", "validate", str(tmp_path)])
    assert result.exit_code == 1
    assert "sub/bad.md: status: expected one of" in result.stderr
    assert "latin.md: not UTF-8" in result.stderr
    assert "fine.md" not in result.stderr
    as_json = CliRunner().invoke(app, ["knowledge", "validate", str(tmp_path), "--json"])
    assert as_json.exit_code == 1
    assert '"records": 3' in as_json.stdout


def test_validate_of_nothing_is_wrong(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["knowledge", "validate", str(tmp_path)]).exit_code == 1
    assert CliRunner().invoke(app, ["knowledge", "validate", str(tmp_path / "x")]).exit_code == 2
