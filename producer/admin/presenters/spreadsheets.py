"""Lines of CSV that a spreadsheet shows as they are."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

FORMULA = re.compile(r"[=+\-@\t\r]")
"""First characters of a text that a spreadsheet treats as a formula."""


def csv_line(cells: Sequence[object]) -> str:
    """Return a line of CSV; a text that a spreadsheet would treat as a formula gets an apostrophe in front."""
    line = io.StringIO()
    csv.writer(line).writerow(
        f"'{one}" if isinstance(one, str) and FORMULA.match(one) else one for one in cells
    )
    return line.getvalue()
