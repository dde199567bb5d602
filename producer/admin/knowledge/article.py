"""Knowledge articles: Markdown with YAML front matter in the format of SPEC 2.5. Pure: text in, faults out."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError

from shared.notices.invalid import Invalid
from shared.notices.render import sentence
from shared.values.validation import Unfit, model_faults

FENCE = "---"
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _date(text: str) -> str:
    try:
        if not DATE.fullmatch(text):
            raise ValueError
        date.fromisoformat(text)
    except ValueError:
        raise Unfit(Invalid.DAY_EXPECTED()) from None
    return text


Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[list[Text], Field(min_length=1)]
RecordId = Annotated[str, Field(pattern=r"^KB-[A-Z]+-[0-9]{3}$")]
Date = Annotated[str, AfterValidator(_date)]


class Metadata(BaseModel):
    """The format of the front matter; additional fields may hold any JSON value."""

    model_config = ConfigDict(strict=True, extra="allow", hide_input_in_errors=True)
    __pydantic_extra__: dict[str, JsonValue]

    id: RecordId
    title: Annotated[str, Field(min_length=8)]
    domain: Literal["infrastructure", "security", "plugin-dev", "process", "ci-cd"]
    tags: Texts
    status: Literal["active", "deprecated", "draft"]
    severity: Literal["low", "medium", "high", "critical"]
    created_at: Date
    updated_at: Date
    applies_to: Texts
    related_records: list[RecordId] = []


class NotAnArticle(ValueError):
    """Text without front matter that can be parsed.

    Args:
        line: the line number, from 1.
        problem: what is wrong there.
    """

    def __init__(self, line: int, problem: str) -> None:
        self.line, self.problem = line, problem
        super().__init__(f"line {line}: {problem}")


@dataclass(frozen=True, slots=True)
class Article:
    """One knowledge article.

    Attributes:
        metadata: the front matter as it was read, additional fields included; `faults_of` checks it.
        body: the Markdown below it.
    """

    metadata: Mapping[str, Any]
    body: str


def parse_article(text: str) -> Article:
    """Parse an article.

    Raises:
        NotARecord: if there is no front matter, or it is not YAML.
    """
    lines = text.removeprefix("\ufeff").removesuffix("\n").split("\n")
    if lines[0].rstrip() != FENCE:
        raise NotAnArticle(1, f"expected `{FENCE}`: the front matter comes first")
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == FENCE), None)
    if end is None:
        raise NotAnArticle(len(lines), f"the front matter is not closed with `{FENCE}`")
    return Article(_front_matter("\n".join(lines[1:end])), "\n".join(lines[end + 1 :]).strip())


def faults_of(metadata: Mapping[str, Any]) -> list[str]:
    """Return what does not fit the format of SPEC 2.5, each fault with its field."""
    try:
        Metadata.model_validate(metadata)
    except ValidationError as error:
        return [f"{path}: {sentence(problem)}" for path, problem in model_faults(error)]
    return []


def faults_between(records: Iterable[tuple[str, Mapping[str, Any]]]) -> list[tuple[str, str]]:
    """Return (name, fault) for ids that two articles share, and for related articles that do not exist.

    Args:
        records: (name of the file, its metadata).
    """
    known: dict[str, str] = {}
    faults, given = [], list(records)
    for name, metadata in given:
        record_id = str(metadata.get("id"))
        if record_id in known:
            faults.append((name, f"id: {record_id} is also the id of {known[record_id]}"))
        known.setdefault(record_id, name)
    for name, metadata in given:
        related = metadata.get("related_records")
        unknown = [one for one in related if str(one) not in known] if isinstance(related, list) else []
        faults += [(name, f"related_records: there is no {one}") for one in unknown]
    return faults


class _Loader(yaml.SafeLoader):
    """YAML as plain data.

    Dates stay text, and keys are text and unique. Aliases are refused, since with them a few lines can grow to
    gigabytes, and so are tags.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 (as the base class has it)
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Refuse aliases and tags."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None):
            raise yaml.MarkedYAMLError(problem="no aliases or tags", problem_mark=event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Read keys as text and refuse duplicates, as YAML demands; PyYAML would use the last of equal keys."""
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="a key must be text", problem_mark=key.start_mark)
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"{key.value} comes twice", problem_mark=key.start_mark)
            key.tag = "tag:yaml.org,2002:str"
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _front_matter(text: str) -> Mapping[str, Any]:
    try:
        found = yaml.load(text, _Loader)  # noqa: S506 (a SafeLoader)
    except yaml.MarkedYAMLError as fault:
        line = fault.problem_mark.line if fault.problem_mark else 0
        raise NotAnArticle(line + 2, fault.problem or "not YAML") from None
    except yaml.reader.ReaderError as fault:
        raise NotAnArticle(
            text.count("\n", 0, fault.position) + 2, "a character that YAML does not allow"
        ) from None
    except (ValueError, RecursionError) as fault:  # a number such as 0x_; values nested without end
        raise NotAnArticle(2, f"not YAML: {type(fault).__name__}") from None
    if not isinstance(found, dict):
        raise NotAnArticle(2, "expected `key: value` lines")
    return found
