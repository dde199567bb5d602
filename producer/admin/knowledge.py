"""Knowledge records: Markdown with front matter of the shape that SPEC 2.5 gives. Pure: text in, faults out.

The front matter is the part of YAML that records need, and no more: `key: text`, `key: [a, b]`, or a `key:` with
`- item` lines below it. What is more than that is a fault with its line, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

ID = re.compile(r"KB-[A-Z]+-[0-9]{3}")
SHORTEST_TITLE = 8
DOMAINS = ("infrastructure", "security", "plugin-dev", "process", "ci-cd")
STATUSES = ("active", "deprecated", "draft")
SEVERITIES = ("low", "medium", "high", "critical")
FENCE = "---"
KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*):(?:[ \t]+(.*))?")
ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

Metadata = dict[str, Any]
Check = Callable[[Any], str | None]


class NotARecord(ValueError):
    """Text without front matter that can be read.

    Args:
        line: where, from 1.
        problem: what is wrong there.
    """

    def __init__(self, line: int, problem: str) -> None:
        self.line, self.problem = line, problem
        super().__init__(f"line {line}: {problem}")


@dataclass(frozen=True, slots=True)
class Record:
    """One knowledge record.

    Attributes:
        metadata: the front matter; additional keys are kept.
        body: the Markdown below it.
    """

    metadata: Mapping[str, Any]
    body: str


def parse_record(text: str) -> Record:
    """Read a record.

    Raises:
        NotARecord: there is no front matter, or a line of it cannot be read.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != FENCE:
        raise NotARecord(1, f"expected `{FENCE}`: the front matter comes first")
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == FENCE), None)
    if end is None:
        raise NotARecord(len(lines), f"the front matter is not closed with `{FENCE}`")
    return Record(_front_matter(lines[1:end]), "\n".join(lines[end + 1 :]).strip())


def faults_of(metadata: Mapping[str, Any]) -> list[str]:
    """Return what does not fit the shape of SPEC 2.5, each with its field; additional fields are allowed."""
    missing = [
        f"{name}: required" for name, required in REQUIRED.items() if required and name not in metadata
    ]
    found = [(name, CHECKS[name](value)) for name, value in metadata.items() if name in CHECKS]
    return missing + [f"{name}: {fault}" for name, fault in found if fault]


def faults_between(records: Iterable[tuple[str, Mapping[str, Any]]]) -> list[tuple[str, str]]:
    """Return (name, fault) for ids that two records share, and for related records that are not there.

    Args:
        records: (name of the file, its metadata).
    """
    known: dict[str, str] = {}
    faults, given = [], list(records)
    for name, metadata in given:
        record_id = str(metadata.get("id"))
        if record_id in known:
            faults.append((name, f"id: {record_id} is the id of {known[record_id]}, too"))
        known.setdefault(record_id, name)
    for name, metadata in given:
        related = metadata.get("related_records")
        strangers = [one for one in related if one not in known] if isinstance(related, list) else []
        faults += [(name, f"related_records: there is no {one}") for one in strangers]
    return faults


def _front_matter(lines: list[str]) -> Metadata:
    found: Metadata = {}
    open_list: str | None = None
    for number, line in enumerate(lines, 2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        item, key = ITEM.fullmatch(line), KEY.fullmatch(line)
        if item and open_list:
            found[open_list] = [*(found[open_list] or []), _scalar(item[1], number)]
        elif key:
            name, text = key[1], (key[2] or "").strip()
            if name in found:
                raise NotARecord(number, f"{name} comes twice")
            open_list = None if text else name
            found[name] = _value(text, number) if text else None
        else:
            raise NotARecord(number, "expected `key: value`, `key: [a, b]`, or `- item` below a `key:`")
    return found


def _value(text: str, number: int) -> Any:
    if not text.startswith("["):
        return _scalar(text, number)
    if not text.endswith("]"):
        raise NotARecord(number, "a list that begins on a line ends on it: `[a, b]`")
    inner = text[1:-1].strip()
    return [_scalar(one.strip(), number) for one in inner.split(",")] if inner else []


def _scalar(text: str, number: int) -> str:
    text = text.strip()
    if text[:1] in "\"'" and text:
        if len(text) < 2 or text[-1] != text[0]:
            raise NotARecord(number, "a quote is not closed")
        return text[1:-1]
    if text[:1] in ("{", "|", ">", "&", "*", "!", "[") and text:
        raise NotARecord(number, f"plain text is expected; put text that begins with {text[0]} in quotes")
    return text.split(" #")[0].rstrip()


def _text(value: Any) -> str | None:
    return None if isinstance(value, str) and value else "expected text"


def _title(value: Any) -> str | None:
    if _text(value) or len(value) < SHORTEST_TITLE:
        return f"expected text of at least {SHORTEST_TITLE} characters"
    return None


def _id(value: Any) -> str | None:
    matches = isinstance(value, str) and ID.fullmatch(value)
    return None if matches else "expected KB-<UPPERCASE LETTERS>-<3 digits>"


def _one_of(choices: tuple[str, ...]) -> Check:
    return lambda value: None if value in choices else f"expected one of: {', '.join(choices)}"


def _texts(value: Any) -> str | None:
    fits = isinstance(value, list) and value and not any(map(_text, value))
    return None if fits else "expected a list of at least one text"


def _ids(value: Any) -> str | None:
    fits = isinstance(value, list) and not any(map(_id, value))
    return None if fits else "expected a list of record ids"


def _date(value: Any) -> str | None:
    try:
        if not isinstance(value, str) or not DATE.fullmatch(value):
            raise ValueError
        date.fromisoformat(value)
    except ValueError:
        return "expected a date such as 2026-11-21"
    return None


CHECKS: dict[str, Check] = {
    "id": _id,
    "title": _title,
    "domain": _one_of(DOMAINS),
    "tags": _texts,
    "status": _one_of(STATUSES),
    "severity": _one_of(SEVERITIES),
    "created_at": _date,
    "updated_at": _date,
    "applies_to": _texts,
    "related_records": _ids,
}
REQUIRED = {name: name != "related_records" for name in CHECKS}
