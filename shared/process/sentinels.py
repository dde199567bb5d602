"""The address of a Redis behind Sentinels: `redis+sentinel://HOST:PORT,HOST:PORT/NUMBER?master=NAME`.

redis-py and kombu support Sentinel with different options; both are derived from this one address.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit

from redis.backoff import NoBackoff
from redis.retry import Retry

from shared.notices.invalid import Invalid
from shared.values.validation import Unfit, parts_of

SCHEME = "redis+sentinel"
PORT = 26379
QUESTIONS = {"master", "sentinel_password"}


@dataclass(frozen=True, slots=True, repr=False)
class Sentinels:
    """The Sentinels that know the current address of Redis, and the options to connect to both.

    Attributes:
        hosts: hosts and ports of the Sentinels.
        master: the name by which they know the master.
        number: number of the database.
        username: user of Redis, None for its default user.
        password: password of that user.
        sentinel_password: password of the Sentinels themselves.
    """

    hosts: tuple[tuple[str, int], ...]
    master: str
    number: int = 0
    username: str | None = None
    password: str | None = None
    sentinel_password: str | None = None

    @property
    def of_redis(self) -> dict[str, Any]:
        """redis-py's options for connections to Redis."""
        return {"db": self.number, "username": self.username, "password": self.password}

    @property
    def of_sentinel(self) -> dict[str, Any]:
        """redis-py's options for connections to Sentinels; no retries, as there are other Sentinels."""
        return {"password": self.sentinel_password, "retry": Retry(NoBackoff(), 0)}

    @property
    def broker(self) -> str:
        """The address in kombu's form; the master's name is one of kombu's transport options instead."""
        account = ":".join(quote(one or "", safe="") for one in (self.username, self.password))
        at = f"{account}@" if account != ":" else ""
        return ";".join(f"sentinel://{at}{_shown(host)}:{port}/{self.number}" for host, port in self.hosts)


def sentinels(url: str) -> Sentinels | None:
    """Parse an address that names Sentinels; return None if it names a server itself.

    Raises:
        ValueError: if the address names Sentinels but is malformed.
    """
    scheme, _, rest = url.partition("://")
    if scheme != SCHEME:
        return None
    parts = _parts(f"//{rest}")
    asked = parse_qs(parts.query)
    account, _, hosts = parts.netloc.rpartition("@")
    username, _, password = (unquote(one) for one in account.partition(":"))
    number, master = parts.path.strip("/") or "0", asked.get("master", [""])[0]
    if not (number.isascii() and number.isdigit() and master and asked.keys() <= QUESTIONS):
        raise Unfit(Invalid.SENTINELS_EXPECTED())
    return Sentinels(
        tuple(_host(one) for one in hosts.split(",")),
        master,
        int(number),
        username or None,
        password or None,
        asked.get("sentinel_password", [None])[0],
    )


def _host(text: str) -> tuple[str, int]:
    parts = parts_of(f"//{text}")
    if parts is None or not parts.hostname:
        raise Unfit(Invalid.SENTINELS_EXPECTED())
    return parts.hostname, parts.port or PORT


def _parts(address: str) -> SplitResult:
    """Split an address of several hosts, which has no single port; hide urlsplit's error, which quotes the address."""
    try:
        return urlsplit(address)
    except ValueError:
        raise Unfit(Invalid.SENTINELS_EXPECTED()) from None


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
