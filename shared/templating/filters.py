"""Filters and conditions. All of them are pure, and none makes a text longer than the limit of the output.

To add a filter, add an entry to FILTERS.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from shared.events.formatting import Formatting, formatted
from shared.events.snapshots import ContentFormat
from shared.events.text import cut, hours, one_line, plain_text
from shared.notices.templates import TemplateProblem
from shared.templating.values import (
    OUTPUT_BYTES,
    Json,
    UnlocatedError,
    as_any,
    as_decimal,
    as_integer,
    as_number,
    as_text,
    is_empty,
    kind_of,
    number,
    to_json,
    to_text,
)

Convert = Callable[[Json], Json]


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument after the value itself.

    Attributes:
        name: its name in the documentation.
        convert: converts a value to the type that the function accepts, or raises UnlocatedError.
        required: whether it must be given.
        repeated: whether it may be given any number of times.
    """

    name: str
    convert: Convert = as_any
    required: bool = True
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A filter or a condition.

    Attributes:
        name: as it is written in a tag.
        apply: the implementation, called with the value and the converted arguments.
        parameters: the arguments, in order.
        takes_null: whether it is called for null, too; otherwise the result for null is null.
        summary: what it does, for the documentation and the console.
        example: a tag that uses it.
    """

    name: str
    apply: Callable[..., Json]
    parameters: tuple[Parameter, ...]
    summary: str
    example: str
    takes_null: bool = False

    def parameter(self, index: int) -> Parameter:
        """Return the parameter at an index; the last one may be repeated."""
        return self.parameters[min(index, len(self.parameters) - 1)]

    def check_count(self, given: int) -> None:
        """Check the number of arguments.

        Raises:
            UnlocatedError: if there are too few or too many.
        """
        least = sum(parameter.required for parameter in self.parameters)
        endless = any(parameter.repeated for parameter in self.parameters)
        if given < least or (given > len(self.parameters) and not endless):
            takes = [parameter.name for parameter in self.parameters]
            about = {"name": self.name, "count": given}
            if not takes:
                raise UnlocatedError(TemplateProblem.NO_ARGUMENTS_TAKEN(**about))
            raise UnlocatedError(TemplateProblem.ARGUMENTS_MISCOUNTED(**about, takes=takes))


_OTHER = Parameter("other")
_MORE = Parameter("other", repeated=True)


def is_true(value: Json) -> bool:
    """Return whether a condition holds: null, false, 0 and empty texts, lists and objects are false."""
    return bool(value)


def equal(value: Json, other: Json) -> bool:
    """Return whether two values are the same; a number equals its text."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, str) and isinstance(other, (int, float)):
        return value == to_text(other)
    if isinstance(other, str) and isinstance(value, (int, float)):
        return other == to_text(value)
    return bool(value == other)


def _greater(value: Json, other: Json) -> bool:
    if value is None or other is None:
        return False
    if isinstance(value, (list, dict, bool)) or isinstance(other, (list, dict, bool)):
        raise UnlocatedError(TemplateProblem.NUMBERS_ARE_COMPARED())
    return as_number(value) > as_number(other)


CONDITIONS: tuple[Function, ...] = (
    Function("eq", equal, (_OTHER,), "the same; a number equals its text", "{{#if (eq ticket.status 5)}}", True),
    Function("ne", lambda value, other: not equal(value, other), (_OTHER,), "not the same",
             "{{#if (ne ticket.entity_id 0)}}", True),
    Function("gt", _greater, (_OTHER,), "a greater number; null is never greater",
             "{{#if (gt task.actiontime 3600)}}", True),
    Function("and", lambda *values: all(map(is_true, values)), (_MORE,), "all of them hold",
             "{{#if (and task.content (eq task.state 2))}}", True),
    Function("or", lambda *values: any(map(is_true, values)), (_MORE,), "one of them holds",
             "{{#if (or task.content ticket.content)}}", True),
    Function("not", lambda value: not is_true(value), (), "does not hold", "{{#if (not ticket.project_id)}}", True),
)  # fmt: skip


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_LETTER = re.compile(r"%(.?)", re.DOTALL)
_ZONE = re.compile(r"[A-Za-z0-9_+-]{1,40}(?:/[A-Za-z0-9_+-]{1,40}){0,2}")

LETTERS: dict[str, Callable[[datetime], str]] = {
    "Y": lambda moment: f"{moment.year:04}",
    "y": lambda moment: f"{moment.year % 100:02}",
    "m": lambda moment: f"{moment.month:02}",
    "B": lambda moment: _MONTHS[moment.month - 1],
    "b": lambda moment: _MONTHS[moment.month - 1][:3],
    "d": lambda moment: f"{moment.day:02}",
    "A": lambda moment: _DAYS[moment.weekday()],
    "a": lambda moment: _DAYS[moment.weekday()][:3],
    "H": lambda moment: f"{moment.hour:02}",
    "I": lambda moment: f"{(moment.hour - 1) % 12 + 1:02}",
    "p": lambda moment: "AM" if moment.hour < 12 else "PM",
    "M": lambda moment: f"{moment.minute:02}",
    "S": lambda moment: f"{moment.second:02}",
    "j": lambda moment: f"{moment.timetuple().tm_yday:03}",
    "V": lambda moment: f"{moment.isocalendar().week:02}",
    "z": lambda moment: _offset(moment),
    "Z": lambda moment: (moment.tzname() or "")[:40],
    "%": lambda _: "%",
}


def date_format(value: Json) -> str:
    """Return a date format, if every letter in it is known.

    Raises:
        UnlocatedError: if it is not a text, is too long, or has no letters or an unknown one.
    """
    letters = _LETTER.findall(value) if isinstance(value, str) else []
    if not letters or len(value) > 200 or any(letter not in LETTERS for letter in letters):
        raise UnlocatedError(
            TemplateProblem.DATE_FORMAT_WRONG(
                letters=[f"%{letter}" for letter in LETTERS], example="%Y-%m-%d"
            )
        )
    return str(value)


def timezone(value: Json) -> ZoneInfo:
    """Return a time zone by its name.

    Raises:
        UnlocatedError: if there is no such zone.
    """
    if isinstance(value, str) and _ZONE.fullmatch(value):
        try:
            return ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            pass  # the same error as for a malformed name
    raise UnlocatedError(TemplateProblem.TIME_ZONE_UNKNOWN())


def format_date(value: Json, layout: str = "%Y-%m-%d", zone: ZoneInfo | None = None) -> str:
    """Format a date, or a date and time.

    Args:
        value: ISO 8601 or RFC 3339 text; without an offset it is not converted.
        layout: a format with the letters of LETTERS.
        zone: the time zone to which a value with an offset is converted; None: UTC.

    Raises:
        UnlocatedError: if the value is not a date, or is out of range.
    """
    moment = _parsed(value)
    try:
        if moment.tzinfo:
            moment = moment.astimezone(zone or UTC)
        return _LETTER.sub(lambda letter: LETTERS[letter[1]](moment), layout)
    except (OverflowError, ValueError):
        raise UnlocatedError(TemplateProblem.DATE_BEYOND_RANGE()) from None


def _parsed(value: Json) -> datetime:
    if isinstance(value, str) and len(value) <= 64:
        try:
            return datetime.fromisoformat(value.strip())
        except ValueError:
            pass  # the same error as for a value that is not a text
    raise UnlocatedError(TemplateProblem.DATE_IS_NEEDED())


def _offset(moment: datetime) -> str:
    offset = moment.utcoffset()
    if offset is None:
        return ""
    minutes = int(offset.total_seconds() // 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


LONGEST_IDENTIFIER = 100
_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0", "")


def _truncate(value: Json, limit: int, mark: str = "") -> str:
    if limit < 0:
        raise UnlocatedError(TemplateProblem.LENGTH_BELOW_ZERO())
    return cut(as_text(value), limit, mark)


def _replace(value: Json, old: str, new: str) -> str:
    text = as_text(value)
    if not old:
        raise UnlocatedError(TemplateProblem.SOUGHT_TEXT_EMPTY())
    if len(text) + text.count(old) * (len(new) - len(old)) > OUTPUT_BYTES:
        raise UnlocatedError(TemplateProblem.TEXT_WOULD_GROW())
    return text.replace(old, new)


def _slice(value: Json, start: int, length: int | None = None) -> Json:
    items = _items(value)
    begin = max(start + len(items), 0) if start < 0 else start
    end = len(items) if length is None else (begin + length if length >= 0 else len(items) + length)
    return items[begin : max(end, begin)]


def _split(value: Json, separator: str | None = None) -> list[str]:
    if separator == "":
        raise UnlocatedError(TemplateProblem.SEPARATOR_IS_EMPTY())
    return as_text(value).split(separator)


def _join(value: Json, separator: str = ", ") -> str:
    if not isinstance(value, list):
        raise UnlocatedError(TemplateProblem.LIST_IS_NEEDED(got=kind_of(value)))
    texts = [to_text(item) for item in value]
    if sum(map(len, texts)) + len(separator) * len(texts) > OUTPUT_BYTES:
        raise UnlocatedError(TemplateProblem.TEXT_WOULD_GROW())
    return separator.join(texts)


def _first(value: Json) -> Json:
    items = _items(value)
    return items[0] if items else None


def _last(value: Json) -> Json:
    items = _items(value)
    return items[-1] if items else None


def _length(value: Json) -> int:
    return len(value) if isinstance(value, (list, dict)) else len(to_text(value))


def _map(value: Json, *arguments: Json) -> Json:
    pairs = len(arguments) // 2
    for key, result in zip(arguments[: 2 * pairs : 2], arguments[1 : 2 * pairs : 2], strict=True):
        if equal(value, key):
            return result
    return arguments[-1] if len(arguments) % 2 else None


def _round(value: Json, digits: int = 0) -> int | float:
    if not 0 <= digits <= 10:
        raise UnlocatedError(TemplateProblem.DIGITS_OUT_OF_RANGE())
    try:
        rounded = as_decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    except ArithmeticError:
        raise UnlocatedError(TemplateProblem.ROUNDED_TOO_LARGE()) from None
    result: int | float = number(float(rounded) if digits else int(rounded))
    return result


def _hours(value: Json) -> float:
    return hours(as_integer(value))


def _bool(value: Json) -> bool:
    if isinstance(value, (list, dict)):
        raise UnlocatedError(TemplateProblem.TEXT_OR_NUMBER_NEEDED(got=kind_of(value)))
    written = to_text(value).strip().lower()
    if isinstance(value, str) and written not in (*_TRUE, *_FALSE):
        raise UnlocatedError(TemplateProblem.TEXT_IS_NO_TRUTH())
    return written in _TRUE if isinstance(value, str) else bool(value)


def _slug(value: Json) -> str:
    # Normalising takes quadratic time for a run of combining marks: a title of 1 MiB of them would take minutes.
    start = as_text(value)[: 10 * LONGEST_IDENTIFIER]
    ascii_text = unicodedata.normalize("NFKD", start).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", ascii_text).strip("-")[:LONGEST_IDENTIFIER].rstrip("-")


def _content_format(value: Json) -> Json:
    return _one_of(ContentFormat, value)


def _text_formatting(value: Json) -> Json:
    return _one_of(Formatting, value) or "plain"


def _one_of(choices: Any, value: Json) -> Json:
    if value is not None and value not in get_args(choices):
        raise UnlocatedError(TemplateProblem.WORD_NOT_OFFERED(words=get_args(choices)))
    return value


def _web_address(value: Json) -> Json:
    return None if value is None else as_text(value)


def _prefix(value: Json, added: str) -> str:
    text = as_text(value)
    return added + text if text else ""


def _suffix(value: Json, added: str) -> str:
    text = as_text(value)
    return text + added if text else ""


def _items(value: Json) -> Any:
    """Return a list as it is, or a text; both have a length and can be sliced."""
    return value if isinstance(value, list) else as_text(value)


def _optional(name: str, convert: Convert = as_text) -> Parameter:
    return Parameter(name, convert, required=False)


FILTERS: tuple[Function, ...] = (
    Function("default", lambda value, fallback: fallback if is_empty(value) else value, (Parameter("fallback"),),
             "another value in place of null, an empty text or an empty list",
             "{{task.date | default: 'unknown'}}", takes_null=True),
    Function("truncate", _truncate, (Parameter("length", as_integer), _optional("mark")),
             "at most so many characters, the mark for the cut included (none unless given)",
             "{{ticket.title | truncate: 10 '…'}}"),
    Function("upper", lambda value: as_text(value).upper(), (), "capital letters", "{{ticket.title | upper}}"),
    Function("lower", lambda value: as_text(value).lower(), (), "small letters", "{{ticket.title | lower}}"),
    Function("capitalize", lambda value: as_text(value).capitalize(), (),
             "the first letter a capital, the others small", "{{ticket.title | capitalize}}"),
    Function("trim", lambda value: as_text(value).strip(), (), "no blanks at the ends", "{{ticket.title | trim}}"),
    Function("one_line", lambda value: one_line(as_text(value)), (),
             "a title or name in one line, as without a template", "{{ticket.title | one_line}}"),
    Function("plain", lambda value, *known: plain_text(as_text(value), *known), (
                 Parameter("content_format", _content_format, required=False),
                 Parameter("helpdesk_url", _web_address, required=False)),
             "rich text as plain text, as without a template; what is not known of it is guessed",
             "{{ticket.content | plain: ticket.content_format ticket.helpdesk_url}}"),
    Function("formatted", lambda value, formatting: formatted(as_text(value), formatting),
             (Parameter("text_formatting", _text_formatting),),
             "plain text for a description, escaped where the tracker's text formatting would change it",
             "{{ticket.content | plain | formatted: config.text_formatting}}"),
    Function("replace", _replace, (Parameter("old", as_text), Parameter("new", as_text)),
             "one text in place of another, literally", "{{ticket.title | replace: 'Printer' 'Copier'}}"),
    Function("slice", _slice, (Parameter("start", as_integer), _optional("length", as_integer)),
             "a part of a text or list; start counts from 0, from the end if negative",
             "{{ticket.title | slice: 0 7}}"),
    Function("split", _split, (_optional("separator"),),
             "a text as a list; at blanks and line ends, unless a separator is given", "{{ticket.title | split}}"),
    Function("join", _join, (_optional("separator"),), "a list as one text, with a comma and a blank unless given",
             "{{config.default_watcher_ids | join: '/'}}"),
    Function("first", _first, (), "the first item of a list, or character of a text",
             "{{config.default_watcher_ids | first}}"),
    Function("last", _last, (), "the last item of a list, or character of a text",
             "{{config.default_watcher_ids | last}}"),
    Function("length", _length, (), "how many items or characters; 0 for null",
             "{{config.default_watcher_ids | length}}", takes_null=True),
    Function("map", _map,
             (Parameter("from"), Parameter("to"), Parameter("…, otherwise", required=False, repeated=True)),
             "pairs of from and to; a last one alone is for everything else (null unless given)",
             "{{ticket.status | map: 1 'new' 2 'assigned' 'other'}}", takes_null=True),
    Function("int", as_integer, (), "an integer; what stands behind the point is dropped", "{{int '42'}}"),
    Function("float", lambda value: float(as_number(value)), (), "a decimal number", "{{float '1.5'}}"),
    Function("round", _round, (_optional("digits", as_integer),),
             "rounded, half away from zero; to an integer unless given",
             "{{task.actiontime | hours | round: 2}}"),
    Function("hours", _hours, (), "seconds as decimal hours, not rounded", "{{task.actiontime | hours}}"),
    Function("string", to_text, (), "a number or boolean as text", "{{ticket.id | string}}"),
    Function("bool", _bool, (), "true for true, yes, on, 1; false for false, no, off, 0, nothing", "{{bool 'yes'}}",
             takes_null=True),
    Function("date", format_date, (_optional("format", date_format), _optional("timezone", timezone)),
             "a date in another form, in UTC unless a time zone is given",
             "{{event.occurred_at | date: '%d.%m.%Y %H:%M' 'Europe/Paris'}}"),
    Function("json", to_json, (), "a value as JSON text", "{{config.default_watcher_ids | json}}", takes_null=True),
    Function("slug", _slug, (), "small letters, digits and dashes, as in a project's identifier",
             "{{ticket.title | slug}}"),
    Function("prefix", _prefix, (Parameter("text", as_text),), "a text before it, unless it is empty",
             "{{ticket.id | prefix: 'Ticket #'}}"),
    Function("suffix", _suffix, (Parameter("text", as_text),), "a text behind it, unless it is empty",
             "{{task.actiontime | hours | suffix: ' h'}}"),
)  # fmt: skip

FUNCTIONS: dict[str, Function] = {function.name: function for function in (*FILTERS, *CONDITIONS)}
