"""The forms of the URLs among the settings; a wrong one is refused at start, with what to write."""

from __future__ import annotations

import re

from pydantic import SecretStr

from shared.notices.invalid import Invalid
from shared.process.sentinels import sentinels
from shared.values.validation import Unfit, parts_of

DATABASE = re.compile(
    r"(?:postgresql\+psycopg2|sqlite(?:\+pysqlite)?)://(?:[^@]*@)?(?P<host>\[[^/?]+\]|[^/:?]*)(?::\d+)?(?:[/?].*)?"
)
"""The form of our SQLAlchemy URLs, checked without SQLAlchemy, which beat does not need."""


def database(url: SecretStr) -> SecretStr:
    """Check DATABASE_URL; with an `@` in its password, SQLAlchemy would look for another host."""
    form = DATABASE.fullmatch(url.get_secret_value())
    if not form:
        raise Unfit(Invalid.DATABASE_URL_EXPECTED())
    if "@" in form["host"]:
        raise Unfit(Invalid.PASSWORD_NOT_ENCODED())
    return url


def redis(url: SecretStr) -> SecretStr:
    """Check REDIS_URL."""
    text = url.get_secret_value()
    if sentinels(text):
        return url
    if not text.startswith(("redis://", "rediss://", "unix://")):
        raise Unfit(Invalid.REDIS_URL_EXPECTED())
    if parts_of(text) is None:
        raise Unfit(Invalid.PASSWORD_NOT_ENCODED() if "@" in text else Invalid.REDIS_URL_EXPECTED())
    return url


def broker(url: SecretStr | None) -> SecretStr | None:
    """Check BROKER_URL as far as we know its form."""
    text = url.get_secret_value() if url else ""
    if sentinels(text) is None and text.startswith("sentinel:"):
        raise Unfit(Invalid.SENTINELS_EXPECTED())
    return url


def proxy(url: SecretStr | None) -> SecretStr | None:
    """Check PROXY_URL."""
    parts = parts_of(url.get_secret_value()) if url else None
    if url and (parts is None or parts.scheme != "http" or not parts.hostname or parts.path.strip("/")):
        raise Unfit(Invalid.PROXY_EXPECTED())
    return url


def helpdesk(url: str | None) -> str | None:
    """Check GLPI_API_URL."""
    parts = parts_of(url) if url else None
    if url and (parts is None or parts.scheme not in ("http", "https") or not parts.hostname):
        raise Unfit(Invalid.WEB_ADDRESS_EXPECTED())
    return url


def console(url: str | None) -> str | None:
    """Return CONSOLE_URL without a slash at its end."""
    parts = parts_of(url) if url else None
    if url and (
        parts is None or parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/")
    ):
        raise Unfit(Invalid.ORIGIN_EXPECTED())
    return url.rstrip("/") if url else None
