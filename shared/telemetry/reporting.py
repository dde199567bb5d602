"""Error reports to Sentry, if it is configured (SENTRY_DSN, the extra `sentry`).

Each error line is reported with its place in the source, its code, and the ids of tickets and events. Texts of
exceptions and of libraries' lines are never sent: they may quote a ticket or a person.
"""

from __future__ import annotations

import atexit
import re
import sys
from collections.abc import Collection, Iterator, MutableMapping
from contextlib import suppress
from importlib.metadata import version
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from shared.errors import SettingsError
from shared.notices.system_refusals import SystemRefusal
from shared.process.settings import Settings
from shared.telemetry.logs import CHANNEL, report_to

if TYPE_CHECKING:
    from sentry_sdk.transport import Transport
    from sentry_sdk.types import Event, Hint

REPORTED = ("code", "error", "ticket_id", "task_id", "event_id", "event_ids", "keys", "trace_id", "exit_code")
"""Fields of a line that are reported; delivery ids are not, since the help desk chooses their text."""

PATIENCE_S = 2.0
SHORTEST = 6
"""Fewest characters of a secret that is searched for; a shorter one would match parts of ordinary words."""
HIDDEN = "(secret)"
PASSWORD = re.compile("://[^:/@]*:([^@]+)@")


def start(settings: Settings, process: str, transport: type[Transport] | None = None) -> None:
    """Report errors of this process if the settings ask for it.

    Args:
        settings: SENTRY_DSN, and all secrets, which are never reported.
        process: worker, beat, producer or console.
        transport: replaces Sentry's own transport.

    Raises:
        SettingsError: if SENTRY_DSN is set but malformed, or the extra `sentry` is not installed.
    """
    if settings.sentry_dsn is None:
        return
    try:
        reporter = Reporter(settings.sentry_dsn, process, set(secrets(settings)), transport)
    except ImportError:
        why = SystemRefusal.EXTRA_NOT_INSTALLED(
            variable="DESKBRIDGE_SENTRY_DSN", package="sentry-sdk", extra="[sentry]"
        )
        raise SettingsError(why) from None
    except ValueError:
        raise SettingsError(SystemRefusal.SENTRY_DSN_MALFORMED()) from None
    report_to(reporter.report)
    atexit.register(reporter.close)


def secrets(settings: Settings) -> Iterator[str]:
    """Yield every secret of the settings, and the password of each that is a URL."""
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, SecretStr):
                secret = one.get_secret_value()
                yield secret
                for password in _passwords(secret):
                    yield from (password, unquote(password))


def _passwords(address: str) -> Iterator[str]:
    """Yield the password of a URL, both as read up to the last @ and up to the first."""
    with suppress(ValueError):  # urlsplit refuses some URLs with a bracket
        if "://" in address and (password := urlsplit(address).password):
            yield password
    if found := PASSWORD.search(address):
        yield found[1]


class Reporter:
    """Reports to one Sentry project.

    Args:
        dsn: the DSN of the project.
        process: the process's name.
        hidden: texts that are removed from every report.
        transport: as for `start`.
    """

    def __init__(
        self, dsn: SecretStr, process: str, hidden: Collection[str], transport: type[Transport] | None = None
    ) -> None:
        import sentry_sdk
        from sentry_sdk.utils import BadDsn, event_from_exception

        self._hidden = sorted((one for one in hidden if len(one) >= SHORTEST), key=len, reverse=True)
        self._process, self._of_exception = process, event_from_exception
        try:
            self._client = sentry_sdk.Client(
                dsn=dsn.get_secret_value(),
                transport=transport,
                release=f"deskbridge@{version('deskbridge')}",
                default_integrations=False,
                auto_enabling_integrations=False,
                include_local_variables=False,
                include_source_context=False,
                auto_session_tracking=False,
                shutdown_timeout=PATIENCE_S,
                before_send=self._without_words,
            )
        except BadDsn:
            raise ValueError from None

    def report(self, logger: str, level: str, line: MutableMapping[str, Any]) -> None:
        """Report a line of the log.

        Args:
            logger: name of the line's logger.
            level: error or critical.
            line: the line's fields.
        """
        event: Event = {}
        hint: Hint = {}
        if caught := _caught(line.get("exc_info")):
            event, hint = self._of_exception(caught, self._client.options)
        is_ours = logger.startswith(CHANNEL)
        event |= {
            "level": "fatal" if level == "critical" else "error",
            "logger": logger,
            "message": str(line.get("code") or line.get("event")) if is_ours else f"an error of {logger}",
            "tags": {"process": self._process},
            "extra": {name: line[name] for name in REPORTED if name in line},
        }
        self._client.capture_event(event, hint)
        if level == "critical":  # this process may end at once
            self._client.flush(PATIENCE_S)

    def close(self) -> None:
        """Send the remaining reports."""
        self._client.close()

    def _without_words(self, event: Event, _hint: Hint) -> Event:
        """Return a report without the texts of exceptions and without any secret."""
        for one in (event.get("exception") or {}).get("values") or []:
            one["value"] = ""
        found: Event = self._hide(event)
        return found

    def _hide(self, value: Any) -> Any:
        if isinstance(value, str):
            for secret in self._hidden:
                value = value.replace(secret, HIDDEN)
            return value
        if isinstance(value, dict):
            return {name: self._hide(one) for name, one in value.items()}
        return [self._hide(one) for one in value] if isinstance(value, list | tuple) else value


def _caught(
    info: Any,
) -> tuple[type[BaseException], BaseException, TracebackType | None] | None:
    """Return `exc_info` (an exception, a tuple, or True for the current exception) as a tuple, or None."""
    if isinstance(info, BaseException):
        return type(info), info, info.__traceback__
    found = sys.exc_info() if info is True else info
    return found if isinstance(found, tuple) and found[0] is not None else None
