"""Lines of CSV that a spreadsheet shows as they are."""

from __future__ import annotations

import csv
import re

import pytest

from producer.admin.presenters.spreadsheets import csv_line

pytestmark = pytest.mark.promise("SEC-90")
SEPARATORS = ",;\t\r\n"
FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "＝", "＋", "－", "＠"])
@pytest.mark.parametrize(
    "before", ["", " ", "\xa0", "Zed;", "Zed,", "Zed\t", "Zed\n", "Zed\r", "Zed; ", "a;b;\t", "\t", "\r"]
)
def test_no_part_of_a_cell_begins_a_formula_whatever_divides_the_cells(before: str, begin: str) -> None:
    line = csv_line([7, f"{before}{begin}HYPERLINK(A1);x", None])
    (row,) = csv.reader([line])
    assert row[0] == "7"
    for part in re.split(f"[{SEPARATORS}]", row[1]):
        assert not FORMULA.match(part), line
    assert row[1].replace("'", "") == f"{before}{begin}HYPERLINK(A1);x".replace("\r", "")


def test_other_texts_and_numbers_stay_as_they_are() -> None:
    assert (
        csv_line([-1.5, "Printer; 2nd floor, left", "a-b=c", ""])
        == '-1.5,"Printer; 2nd floor, left",a-b=c,\r\n'
    )
