"""The words that the code no longer uses: `python -m tests.support.words`, a part of `make check`.

Each was a private word for something that has a name in the trade. A word that is to go is one more entry here.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACES = (
    "worker",
    "shared/queue",
    "shared/redis",
    "shared/store",
    "shared/tracker",
    "tests/integration",
    "tests/model",
    "tests/support",
    "tests/unit",
)
INSTEAD = {
    r"doorbell": "publisher",
    r"ringer": "notifier",
    r"\brung\b|_rung|rung_": "notified",
    r"drain(s|ed|ing)?(?![a-z])": "sync, pass",
    r"\bbearing": "related rows",
    r"upkeep": "maintenance",
    r"\bgates\b": "filters, plan",
    r"verdicts": "decisions",
    r"(?<![en])[cC]oded(?!ata)": "notice",
    r"by_reader": "lane",
    r"can_wait": "linger",
    r"\blasts\b": "durable; goes on",
    r"precedes_a_call": "slot",
    r"presence": "heartbeat",
}
"""Pattern to what is said in its place."""


def found() -> list[str]:
    """Return each line that has one of the words: file, line number, what is said in its place."""
    files = subprocess.check_output(["git", "ls-files", *PLACES], cwd=ROOT, text=True).split()  # noqa: S607
    lines = []
    for file in files:
        if not file.endswith(".py") or ROOT / file == Path(__file__):
            continue
        for number, line in enumerate((ROOT / file).read_text(encoding="utf-8").splitlines(), 1):
            lines += [f"{file}:{number}: say: {to}" for word, to in INSTEAD.items() if re.search(word, line)]
    return lines


if __name__ == "__main__":
    sys.exit("\n".join(found()) or 0)
