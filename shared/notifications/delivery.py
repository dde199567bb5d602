"""Sends messages with Apprise, which supports a hundred services; it is the optional extra `notify`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from shared.errors import SettingsError
from shared.notices.invalid import Faults, faulty
from shared.notices.notice import Notice, from_json
from shared.notices.notifications import NotifyRefusal, NotTaken
from shared.notices.refusals import Refusal
from shared.values.addresses import why_forbidden

if TYPE_CHECKING:
    from apprise import Apprise, NotifyBase
    from apprise.result import NotifyResult

PACKAGE, EXTRA, FIELD = "apprise", "[notify]", "urls"
PATIENCE_S = 20.0
SENDER, OURS = "shared.notifications.sender", "DESKBRIDGE_"
STATUS = re.compile(r"\berror=(\d{3})\b")
LOCAL = ("dbus", "qt", "kde", "gio", "glib", "gnome", "macosx", "windows", "syslog", "blink1")
"""Schemes that reach only this machine."""
MOST = 20


@dataclass(frozen=True, slots=True)
class Delivered:
    """The result of sending a message to one address.

    Attributes:
        service: the name of the service.
        failure: why it did not accept the message; None: it did.
    """

    service: str
    failure: Notice | None


def is_installed() -> bool:
    """Return whether the extra is installed for this process."""
    return find_spec(PACKAGE) is not None


def split(text: str) -> list[str]:
    """Return the addresses that a person typed, one on each line.

    Args:
        text: as it was typed.
    """
    return [line.strip() for line in text.splitlines() if line.strip()]


def schemes(urls: Sequence[str]) -> list[str]:
    """Return the scheme of each address, the only part that is shown.

    Args:
        urls: the addresses.
    """
    return [url.partition("://")[0].lower() for url in urls]


def check(urls: Sequence[str], *, allow_link_local: bool) -> None:
    """Refuse addresses that Apprise does not support, that stay on this machine, or that lead to a cloud's secrets.

    Args:
        urls: the addresses.
        allow_link_local: whether they may lead to a link-local or cloud-metadata address.

    Raises:
        SettingsError: if an address is refused (named by its line, never quoted), or Apprise is not installed.
    """
    if not is_installed():
        raise SettingsError(NotifyRefusal.NOT_INSTALLED(package=PACKAGE, extra=EXTRA))
    if not urls:
        raise SettingsError(faulty(Refusal.CONFIG_NOT_VALID, [(FIELD, NotifyRefusal.URL_NEEDED())]))
    faults: Faults = [(FIELD, NotifyRefusal.TOO_MANY(most=MOST))] if len(urls) > MOST else []
    for place, url in enumerate(urls[:MOST], 1):
        service = _service()
        if schemes([url])[0] in LOCAL or not service.add(url):
            faults.append((FIELD, NotifyRefusal.URL_UNKNOWN(line=place)))
        elif not allow_link_local and any(_is_forbidden(url, one) for one in service):
            faults.append((FIELD, NotifyRefusal.URL_FORBIDDEN(line=place)))
    if faults:
        raise SettingsError(faulty(Refusal.CONFIG_NOT_VALID, faults))


def _is_forbidden(url: str, service: NotifyBase) -> bool:
    try:
        return any(why_forbidden(host) for host in _hosts(url, service))
    except ValueError:
        return True


def _hosts(url: str, service: NotifyBase) -> Iterator[str]:
    """Yield the hosts in an address: where Apprise connects to, and in parameters, which may be addresses, too.

    Raises:
        ValueError: if one of them is no address.
    """
    yield from (value for name, value in vars(service).items() if name.endswith("host") and value)
    for address in (url, *(value for _, value in parse_qsl(urlsplit(url).query))):
        if "://" in address:
            yield urlsplit(address).hostname or ""


def deliver(urls: Sequence[str], title: str, body: str, *, allow_link_local: bool) -> list[Delivered]:
    """Send a message to each address; return the result for each.

    Each is sent by a process of its own, because a service may answer without end, or with any number of bytes.

    Args:
        urls: the addresses.
        title: one line.
        body: plain text.
        allow_link_local: whether the process may connect to a link-local or cloud-metadata address.
    """
    return [one for url in urls for one in _sent_apart(url, title, body, allow_link_local)]


def _sent_apart(url: str, title: str, body: str, allow_link_local: bool) -> list[Delivered]:
    wanted = {"url": url, "title": title, "body": body, "allow_link_local": allow_link_local}
    name = schemes([url])[0]
    try:
        ended = subprocess.run(
            [sys.executable, "-P", "-m", SENDER],
            input=json.dumps(wanted).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={variable: value for variable, value in os.environ.items() if not variable.startswith(OURS)},
            timeout=PATIENCE_S,
            check=True,
        )
        results = [from_json(one) for one in json.loads(ended.stdout)]
        return [Delivered(one["service"], one.get("failure")) for one in results]
    except subprocess.TimeoutExpired:
        return [Delivered(name, NotTaken.TOO_LATE(service=name, seconds=PATIENCE_S))]
    except (OSError, ValueError, subprocess.CalledProcessError):  # it needed too much memory
        return [Delivered(name, NotTaken.NOT_REACHED(service=name))]


def send(url: str, title: str, body: str) -> list[Delivered]:
    """Send a message from this process; return the result of each service of an address.

    Args:
        url: the address.
        title: one line.
        body: plain text.
    """
    service = _service()
    if not service.add(url):  # only an earlier version of Apprise knew it
        name = schemes([url])[0]
        return [Delivered(name, NotTaken.NOT_REACHED(service=name))]
    results = service.notify(body=body, title=title, body_format="text")
    return [Delivered(one.name, _failure(one)) for one in results]


def _failure(result: NotifyResult) -> Notice | None:
    """Return why a service did not accept a message: only a status, as Apprise's log may quote the address."""
    from apprise.result import AppriseResultStatus

    if result.status is AppriseResultStatus.SUCCESS:
        return None
    statuses = [found[1] for one in result.logs() if (found := STATUS.search(str(one.message)))]
    if statuses:
        return NotTaken.STATUS(service=result.name, status=int(statuses[-1]))
    return NotTaken.NOT_REACHED(service=result.name)


def _service() -> Apprise:
    from apprise import Apprise

    return Apprise(asset=_asset())


@cache
def _asset() -> Any:
    """Return Apprise's options: the sender's name, nothing stored on disk, no redirects."""
    import logging

    from apprise import AppriseAsset
    from apprise.common import PersistentStoreMode

    # its lines may quote an address, so none of them reaches our log
    lines = logging.getLogger("apprise")
    lines.propagate = False
    lines.addHandler(logging.NullHandler())
    return AppriseAsset(
        app_id="deskbridge",
        app_desc="deskbridge",
        app_url="",
        storage_mode=PersistentStoreMode.MEMORY,
        http_redirects=False,
        async_mode=False,
    )
