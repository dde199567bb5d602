"""Lines of CSV that a spreadsheet shows as they are."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

FORMULA = re.compile(r"[=+\-@\t\r]")
"""With one of these a spreadsheet takes a text for a formula."""


def csv_line(cells: Sequence[object]) -> str:
    """Return a line of CSV; a text that a spreadsheet would take for a formula begins with an apostrophe."""
    line = io.StringIO()
    csv.writer(line).writerow(
        f"'{one}" if isinstance(one, str) and FORMULA.match(one) else one for one in cells
    )
    return line.getvalue()
