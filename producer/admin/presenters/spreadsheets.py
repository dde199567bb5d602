"""Lines of CSV that a spreadsheet shows as they are."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

from shared.values.characters import NOT_FOR_A_TERMINAL
from shared.values.visible import visible

_SEPARATORS = re.compile(r"([,;\t\n])")
"""What divides cells or lines, depending on the settings of the spreadsheet; some take no notice of quotation marks."""
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")
"""The beginning of a text that a spreadsheet treats as a formula."""


def csv_line(cells: Sequence[object]) -> str:
    """Return a line of CSV, as harmless on a terminal as in a spreadsheet.

    An apostrophe precedes each part of a text that a spreadsheet could treat as a formula.
    """
    line = io.StringIO()
    csv.writer(line).writerow(_harmless(one) if isinstance(one, str) else one for one in cells)
    return line.getvalue()


def _harmless(text: str) -> str:
    text = visible(NOT_FOR_A_TERMINAL.sub("", text))
    if _SEPARATORS.match(text):
        text = f"'{text}"
    return "".join(f"'{part}" if _FORMULA.match(part) else part for part in _SEPARATORS.split(text))
