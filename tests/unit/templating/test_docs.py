"""The examples, variables, tags and limits of docs/reference/templates.md match the engine."""

from __future__ import annotations

import json
import re

import pytest

from deploy.site import ROOT
from shared.templating import values as limits
from shared.templating.catalogue import catalogue_for
from shared.templating.filters import LETTERS
from shared.templating.operations import OPERATIONS
from shared.templating.render import Engine
from tests.unit.templating.support import ISSUE, body, context, one

PAGE = (ROOT / "docs" / "reference" / "templates.md").read_text(encoding="utf-8")


def rows(first_cell: str) -> list[list[str]]:
    """Return the rows of every table whose header starts with this cell; code loses its backquotes."""
    found: list[list[str]] = []
    for table in re.findall(rf"\| {re.escape(first_cell)} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", PAGE):
        for line in table.splitlines():
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            found.append([cell.strip().strip("`").replace("\\|", "|") for cell in cells])
    return found


@pytest.mark.parametrize("row", rows("filter"), ids=lambda row: row[0])
def test_every_example_of_a_filter_gives_what_the_page_says(row: list[str]) -> None:
    assert one(row[2]) == json.loads(row[3]) is not None


@pytest.mark.parametrize("row", rows("condition"), ids=lambda row: row[0])
def test_every_example_of_a_condition_works(row: list[str]) -> None:
    assert one(row[2] + "yes{{else}}no{{/if}}") in ("yes", "no")


def test_every_variable_is_listed_once() -> None:
    known = {variable.path for operation in OPERATIONS for variable in catalogue_for(operation).variables}
    assert sorted(row[0] for row in rows("variable")) == sorted(known)


def test_every_letter_of_a_date_is_documented() -> None:
    line = next(line for line in PAGE.splitlines() if line.startswith("Letters of `date`"))
    assert re.findall(r"`%(.)`", line) == list(LETTERS)


def test_the_limits_are_the_real_ones() -> None:
    numbers = [float(row[1].split()[0]) for row in rows("limit")]
    assert numbers == [
        limits.BODY_BYTES / 1024, limits.TAGS, limits.FILTERS_PER_TAG, limits.DEPTH, limits.ITEMS_PER_EACH,
        limits.OUTPUT_BYTES / 1024**2, limits.SECONDS,
    ]  # fmt: skip


@pytest.mark.parametrize("example", re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
def test_every_template_of_the_page_renders_without_a_warning(example: str) -> None:
    rendering = Engine(catalogue_for("issue.create")).render(example, context())
    assert rendering.warnings == ()
    assert rendering.payload["issue"]["priority_id"] == 4


@pytest.mark.parametrize(
    "row", [row for row in rows("written") if "\\{{" not in row[0]], ids=lambda row: row[0]
)
def test_every_tag_of_the_page_is_part_of_the_language(row: list[str]) -> None:
    for tag in row[0].split("`, `"):
        ISSUE.check(body(tag))
