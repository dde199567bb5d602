"""The filters. All of them are pure, and none makes a text longer than the output may be."""

from __future__ import annotations

import re
import unicodedata
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, get_args

from shared.codes.templates import Flaw
from shared.events.event import ContentFormat
from shared.events.formatting import Formatting, formatted
from shared.events.text import cut, hours, plain_text
from shared.templating.conditions import equal
from shared.templating.dates import date_format, format_date, timezone
from shared.templating.functions import Convert, Function, Parameter
from shared.templating.limits import OUTPUT_BYTES
from shared.templating.values import (
    Fault,
    Json,
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

LONGEST_IDENTIFIER = 100
_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0", "")


def _truncate(value: Json, limit: int, mark: str = "") -> str:
    if limit < 0:
        raise Fault(Flaw.LENGTH_BELOW_ZERO())
    return cut(as_text(value), limit, mark)


def _replace(value: Json, old: str, new: str) -> str:
    text = as_text(value)
    if not old:
        raise Fault(Flaw.SOUGHT_TEXT_EMPTY())
    if len(text) + text.count(old) * (len(new) - len(old)) > OUTPUT_BYTES:
        raise Fault(Flaw.TEXT_WOULD_GROW())
    return text.replace(old, new)


def _slice(value: Json, start: int, length: int | None = None) -> Json:
    items = _items(value)
    begin = max(start + len(items), 0) if start < 0 else start
    end = len(items) if length is None else (begin + length if length >= 0 else len(items) + length)
    return items[begin : max(end, begin)]


def _split(value: Json, separator: str | None = None) -> list[str]:
    if separator == "":
        raise Fault(Flaw.SEPARATOR_IS_EMPTY())
    return as_text(value).split(separator)


def _join(value: Json, separator: str = ", ") -> str:
    if not isinstance(value, list):
        raise Fault(Flaw.LIST_IS_NEEDED(got=kind_of(value)))
    texts = [to_text(item) for item in value]
    if sum(map(len, texts)) + len(separator) * len(texts) > OUTPUT_BYTES:
        raise Fault(Flaw.TEXT_WOULD_GROW())
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
        raise Fault(Flaw.DIGITS_OUT_OF_RANGE())
    try:
        rounded = as_decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    except ArithmeticError:
        raise Fault(Flaw.ROUNDED_TOO_LARGE()) from None
    result: int | float = number(float(rounded) if digits else int(rounded))
    return result


def _hours(value: Json) -> float:
    return hours(as_integer(value))


def _bool(value: Json) -> bool:
    if isinstance(value, (list, dict)):
        raise Fault(Flaw.TEXT_OR_NUMBER_NEEDED(got=kind_of(value)))
    written = to_text(value).strip().lower()
    if isinstance(value, str) and written not in (*_TRUE, *_FALSE):
        raise Fault(Flaw.TEXT_IS_NO_TRUTH())
    return written in _TRUE if isinstance(value, str) else bool(value)


def _slug(value: Json) -> str:
    # Normalising takes the square of a run of combining marks: a title of 1 MiB of them would take minutes.
    start = as_text(value)[: 10 * LONGEST_IDENTIFIER]
    ascii_text = unicodedata.normalize("NFKD", start).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", ascii_text).strip("-")[:LONGEST_IDENTIFIER].rstrip("-")


def _content_format(value: Json) -> Json:
    return _one_of(ContentFormat, value)


def _text_formatting(value: Json) -> Json:
    return _one_of(Formatting, value) or "plain"


def _one_of(choices: Any, value: Json) -> Json:
    if value is not None and value not in get_args(choices):
        raise Fault(Flaw.WORD_NOT_OFFERED(words=get_args(choices)))
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
    """Return a list, or a text: what both have in common is that they have a length and parts."""
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
    Function("plain", lambda value, *known: plain_text(as_text(value), *known), (
                 Parameter("content_format", _content_format, required=False),
                 Parameter("helpdesk_url", _web_address, required=False)),
             "rich text as plain text, as without a template; what is not known of it is guessed",
             "{{ticket.content | plain: ticket.content_format ticket.helpdesk_url}}"),
    Function("formatted", lambda value, formatting: formatted(as_text(value), formatting),
             (Parameter("text_formatting", _text_formatting),),
             "plain text for a description, in a fence where the tracker's text formatting would change it",
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
