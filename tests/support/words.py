"""The words that code and documentation avoid: `python -m tests.support.words`, a part of `make check`.

In the code, these are private words for things that have standard names. In the documentation, they are patterns that
readers have to read twice. To ban another word or pattern, add an entry here.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from deploy.site.reference import PART
from tests.support.catalogue import texts

ROOT = Path(__file__).resolve().parents[2]
CODE = (
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
DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/*.md",
    "producer/admin/knowledge/records/*.md",
    "deploy/monitoring/alerts.yml",
)
NOT_YET = (
    "docs/contributing/specification.md",  # written by others
    "docs/contributing/ledger.md",  # its words are those of the code
)
IN_CODE = {
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
"""The standard word for each pattern."""
IN_DOCUMENTS = {
    r"(?<!from )(?<!shows )(?<!explains )(?<!know )(?<!place )\bwhere\b(?! to\b)": "if, when",
    r"\b(is|are) (to be|said|told|asked)\b|\bbe (told|asked)\b": "name who acts",
    r"\b([Ww]hoever|[Ss]omebody|[Ee]verybody|[Nn]obody|[Aa]nybody)\b|(?<!\w )\b[Ww]hom\b": "a user, no one",
    r"\b(have|has|had) (it|them|everything|each|every \w+) (\w+ed|run|sent|made|done)\b": "an active verb",
    r"\b(is|are) (the |an? )?\w+'s?[.,;:]": "belongs to",
    r"(^|[.:;] )What (?!remains)[^?]*$": "begin with the thing, not with 'what'",
    r"\bfor want of\b|\banew\b|\blikewise\b|\bfor ever\b|\bmend\b|\bmeanwhile\b": "because; again; also",
    r"(?<!cannot )\b([Tt]ells?|told|says?|said|speaks)\b": "report, show, contain",
    r", too\b(?! )|\bis none of\b|\b(is|are) no \w+[.,]": "also; is not a",
    r"\b(version|one|code) before\b|\bof before\b": "previous",
    r"\bin force\b|\bshall\b|\b[Ss]ome \d": "active; must; about",
    r"\b(doorbell|rung|rings?|way of a ticket|stand-in|parked|signs? of life|stands? still)\b": "the standard word",
}
"""The same for documents, articles and alerts, except for code, quotes, link targets and generated parts."""
FOR_ADMINISTRATORS = IN_DOCUMENTS | {
    r"\b(helpdesks?|plugin config|the tracker)\b(?!\.)": "GLPI; Redmine settings; Redmine",
}
"""Only engineers call the two sides by the names of their ports."""
IN_MESSAGES = {
    r"\b([Tt]rackers?|[Hh]elpdesks?)\b": "Redmine; GLPI",
    r"\b(as|by) the administrator\b|\badministrator acts\b": "the API user",
    r"\b([Ww]hoever|[Ss]omebody|[Ee]verybody|[Nn]obody|[Aa]nybody)\b": "a user, no one",
    r"\b(in force|anew|for want of|meanwhile|once more|parked|signs? of life)\b": "active, again, rejected",
    r"\b(told|is to be|are to be|be asked|taken back|looked at|put right)\b": "name who acts",
    r"\bwaits? for a person\b|\bis (not )?linked to a Redmine\b|\boverrides?\b": "needs a decision; mapped",
}
"""The same for deskbridge's own texts: messages, pages, descriptions."""


def found() -> Iterator[str]:
    """Yield each line that has one of the words: file, line number, the standard word."""
    for file in _files(*CODE):
        if file.endswith(".py") and ROOT / file != Path(__file__):
            yield from _matches(file, (ROOT / file).read_text(encoding="utf-8"), IN_CODE)
    for file in _files(*DOCUMENTS):
        if not file.startswith(NOT_YET):
            words = IN_DOCUMENTS if "/contributing/" in file else FOR_ADMINISTRATORS
            yield from _matches(file, _prose((ROOT / file).read_text(encoding="utf-8")), words)
    for text in sorted(str(one) for one in texts()):
        shown = re.sub(r"`[^`]+`|\*+[^*]+\*+|[%{][^})]*[})]|^(helpdesk|tracker)( \w+)?$", "", text)
        yield from _matches(repr(text), shown, IN_MESSAGES)


def _files(*places: str) -> list[str]:
    return subprocess.check_output(["git", "ls-files", *places], cwd=ROOT, text=True).split()  # noqa: S607


def _prose(text: str) -> str:
    """Return a document without code, quotes, generated parts and addresses; line numbers stay the same."""
    for pattern in (
        PART.pattern,
        r"^ *```.*?^ *```$",
        r"`[^`]+`",
        r"\*+[^*\n]+\*+",
        r"\]\([^)]+\)",
        r"\[[^]]*\]\[?",
        r"^#.*?$",
        r"^ *expr: .*?(?=^ *(?:for|labels): )",
    ):
        text = re.sub(pattern, lambda part: "\n" * part[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL)
    return text


def _matches(file: str, text: str, words: dict[str, str]) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        yield from (f"{file}:{number}: say: {to}" for word, to in words.items() if re.search(word, line))


if __name__ == "__main__":
    sys.exit("\n".join(found()) or 0)
