"""Renders the pages: one Jinja2 environment, and the frame around the content of every page."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from producer.admin.presenters.moments import when
from producer.admin.queries.overview import needs_a_person
from producer.admin.records.rights import Right
from producer.admin.services import Services
from producer.console.rendering.addresses import address, lasting, way_back, with_parameters
from producer.console.rendering.assets import Assets
from producer.console.rendering.fixing import has_fix, without_command
from producer.console.rendering.languages import Languages
from producer.console.rendering.notices import NOTICES
from producer.console.rendering.setting_pages import setting
from producer.console.rendering.words import STATES, TONES, label
from shared.notices.language import counted, language, numeral, said
from shared.notices.naming import naming
from shared.notices.notice import Notice
from shared.notices.render import because, sentence
from shared.values.characters import NOT_FOR_A_TERMINAL
from shared.values.ids import read_id
from shared.values.visible import visible

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    ),
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Vary": "Cookie, Accept-Language",
}
MOST_COUNTED = 1000
CODE = re.compile(r"`([^`]+)`")
FIRST_WORD = re.compile(r"\A(<bdi>)?([a-zß-ÿœ])(?=[a-zß-ÿœ’'-]*[,:;.)]?(?:\s|<|$))")
"""A plain first word of a sentence; not a name such as `issue.status_id`, an address or a command."""
OF_WHAT = re.compile(r"(entity|project|person):\d{1,19}")
"""The entity, project or person that the tickets in a message have in common."""
RECORD = re.compile(r"\bKB-[A-Z]{2,20}-\d{3}\b")


@cache
def environment() -> Environment:
    """Return the Jinja2 environment; it compiles each view once per process."""
    made = Environment(
        loader=PackageLoader("producer.console", "views"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    made.install_gettext_callables(said, counted, newstyle=True)  # type: ignore[attr-defined]
    made.filters.update(
        ago=_ago,
        capital=_capital,
        outside=isolate_external_text,
        plain=plain,
        said=_said,
        why=_why,
        many=_many,
        hours=_hours,
        json=_json,
        exact=_exact_time,
        moment=_moment,
        words=label,
        number=numeral,
        local=said,
    )
    made.globals.update(
        address=address,
        with_parameters=with_parameters,
        setting=setting,
        STATES=STATES,
        TONES=TONES,
        Right=Right,
    )
    return made


class View:
    """Renders pages.

    Args:
        services: the console's collaborators.
        assets: script and style.
        languages: languages of the pages.
    """

    def __init__(self, services: Services, assets: Assets, languages: Languages) -> None:
        self._desk, self._languages = services, languages
        self._assets, self._environment = assets, environment()

    def show(
        self,
        request: Request,
        file: str,
        /,
        *,
        status: int = 200,
        counts: tuple[int, int] | None = None,
        **values: Any,
    ) -> Response:
        """Return a page.

        Args:
            request: the browser's request.
            file: name of the view in `views`.
            status: HTTP status.
            counts: failed events and rows on hold, if the page has already counted them.
            values: variables of the view.
        """
        with naming(self._desk.names):
            page = self._environment.get_template(f"{file}.html").render(
                **self._frame(request, counts), **values
            )
        content = page.encode("utf-8", "replace")
        tag = f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'
        if status == 200 and request.method == "GET" and request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={**HEADERS, "ETag": tag})
        return HTMLResponse(content, status, headers={**HEADERS, "ETag": tag})

    def _frame(self, request: Request, counts: tuple[int, int] | None) -> dict[str, Any]:
        account = getattr(request.state, "account", None)
        failed, on_hold = counts or (self._counts() if account else (0, 0))
        asked = request.query_params
        notice = NOTICES.get(asked.get("did", ""))
        sent, of = read_id(asked.get("sent", "")), asked.get("of", "")
        return {
            "account": account,
            "directory": self._desk.names,
            "asset": self._assets.address,
            "may": _may(account.right if account else None),
            "form_token": getattr(request.state, "form_token", ""),
            "here": request.url.path,
            "this_address": lasting(request.url.path, request.url.query),
            "back": way_back(asked.get("back")),
            "tickets_sent": sent if OF_WHAT.fullmatch(of) else None,
            "tickets_of": of,
            "counts": {"events": failed, "on_hold": on_hold},
            "language": language(),
            "languages": self._languages.names(),
            "now": datetime.now(UTC),
            "notice": said(notice) if notice else "",
        }

    def _counts(self) -> tuple[int, int]:
        try:
            return needs_a_person(self._desk.store)
        except SQLAlchemyError:
            return 0, 0


def isolate_external_text(value: object) -> Markup:
    """Return external text as HTML: its text direction isolated, invisible characters marked."""
    return Markup("<bdi>{}</bdi>").format(plain(value))


def plain(value: object) -> str:
    """Return external text for places without markup: options, labels, attributes."""
    return visible(NOT_FOR_A_TERMINAL.sub("\ufffd", str(value)))


def _may(right: Right | None) -> Mapping[str, bool]:
    return {str(one): right is not None and right.covers(one) for one in Right}


def _said(notice: Notice | None) -> Markup:
    return _with_code(_for_a_page(sentence(notice), notice)) if notice else Markup()


def _why(notice: Notice | None) -> Markup:
    return _with_code(_for_a_page(because(notice), notice)) if notice else Markup()


def _for_a_page(text: str, notice: Notice) -> str:
    """Return a sentence, without its command if a page can remove the cause."""
    return without_command(text) if has_fix(notice) else text


def _with_code(text: str) -> Markup:
    """Return a sentence, which may contain external text, as HTML; text in backticks is a command."""
    parts = CODE.split(text)
    shown = [
        Markup("<code>{}</code>").format(plain(part))
        if number % 2
        else _with_records(isolate_external_text(part))
        for number, part in enumerate(parts)
        if part
    ]
    return Markup().join(shown)


def _with_records(text: Markup) -> Markup:
    """Link the number of each knowledge article to its page."""
    return Markup(RECORD.sub(r'<a class="nowrap" href="/console/knowledge/\g<0>">\g<0></a>', str(text)))


def _capital(text: Markup) -> Markup:
    """Capitalize a sentence, unless it begins with something to copy, such as a name or a command."""
    return Markup(FIRST_WORD.sub(lambda found: (found[1] or "") + found[2].upper(), str(text)))


def _many(count: int) -> str:
    return said("more than 1,000") if count > MOST_COUNTED else numeral(f"{count:,}")


def _hours(hours: float) -> str:
    """Return hours as people write them: at most two decimals."""
    return numeral(f"{hours:,.2f}".rstrip("0").rstrip("."))


def _json(value: object) -> str:
    return visible(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def _exact(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime(said("%Y-%m-%d %H:%M:%S UTC"))


def _exact_time(moment: datetime) -> Markup:
    """Return a time to the second in UTC, which the page's script replaces by the reader's local time."""
    return _time(moment, escape(_exact(moment)), "exact")


def _moment(text: str) -> Markup:
    """Return another process's timestamp like our own; if it is not a timestamp, return its text."""
    try:
        return _exact_time(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        return isolate_external_text(text)


def _ago(moment: datetime | None, *, exactly: bool = False) -> Markup:
    """Return a time in words, with the exact time as its tooltip; the page's script adds the local time."""
    if moment is None:
        return Markup()
    words = escape(when(moment))
    return _time(moment, words + f" ({_exact(moment)})" if exactly else words, "exactly" if exactly else "")


def _time(moment: datetime, text: Markup, kind: str) -> Markup:
    machine = moment.astimezone(UTC).isoformat(timespec="seconds")
    mark = Markup(' data-time="{}"').format(kind) if kind else ""
    return Markup('<time datetime="{}" title="{}"{}>{}</time>').format(machine, _exact(moment), mark, text)
