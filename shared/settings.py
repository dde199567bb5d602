"""The environment, read in this one place (CONTRACT: prefix DESKBRIDGE_, each also as *_FILE).

Everything else is handed a `Settings`; nothing else reads `os.environ`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from cryptography.fernet import Fernet
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from shared.errors import SettingsError
from shared.validation import model_faults

PREFIX = "DESKBRIDGE_"
DRIVERS = ("postgresql+psycopg2", "sqlite", "sqlite+pysqlite")
NOT_THE_PRODUCERS = (
    "SECRET_KEYS",
    "GLPI_API_CLIENT_SECRET",
    "GLPI_API_PASSWORD",
    "CONSOLE_TOKENS",
    "OIDC_CLIENT_SECRET",
)
"""Secrets with which whoever takes over the producer could get at the tracker or the helpdesk."""

LOOPBACK = ("127.0.0.1", "::1", "localhost")
SHORTEST_TOKEN = 16
"""Bytes of a bearer token; shorter than this one could be guessed."""

SecretList = Annotated[tuple[SecretStr, ...], NoDecode]


class Settings(BaseSettings):
    """Every setting of every process, validated at start.

    Secrets are `SecretStr`, so that no repr, log line or error shows one.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, hide_input_in_errors=True, extra="forbid", case_sensitive=False
    )

    database_url: SecretStr = Field(
        default=SecretStr("sqlite:///var/deskbridge.sqlite3"),
        description="SQLAlchemy URL; PostgreSQL in production: postgresql+psycopg2://…",
    )
    redis_url: SecretStr = Field(
        default=SecretStr("redis://127.0.0.1:6379/0"),
        description="Locks, pause, rate limit, and the broker unless BROKER_URL is set",
    )
    broker_url: SecretStr | None = Field(default=None, description="Any broker that Celery supports")
    secret_keys: SecretList = Field(
        default=(), description="Comma-separated Fernet keys: the first encrypts, all decrypt"
    )
    webhook_secrets: SecretList = Field(
        default=(), description="Comma-separated inbound signing secrets, whsec_<base64>"
    )
    allow_unsigned: bool = Field(
        default=False, description="Accept unsigned events; only on a loopback bind, for a first try"
    )
    event_limit: float = Field(
        default=200,
        ge=0,
        description="Events per second that the producer takes of one secret, each 16 KiB as one; 0 = no limit",
    )
    glpi_webhook_secrets: SecretList = Field(
        default=(), description="Comma-separated secrets of GLPI's own webhooks (raw strings)"
    )
    glpi_api_url: str | None = Field(
        default=None, description="GLPI's own address, to be asked for what its webhooks lack"
    )
    glpi_api_client_id: str | None = Field(default=None, description="OAuth client of GLPI, grant password")
    glpi_api_client_secret: SecretStr | None = Field(default=None, description="Secret of that client")
    glpi_api_user: str | None = Field(
        default=None, description="GLPI user who may read all tickets and users"
    )
    glpi_api_password: SecretStr | None = Field(default=None, description="Password of that user")
    helpdesk_wait: float = Field(
        default=3600, ge=0, description="Seconds that an event waits for a helpdesk that cannot be asked"
    )
    console_tokens: SecretList = Field(default=(), description="Comma-separated bearer tokens for the API")
    console_url: str | None = Field(
        default=None, description="Where browsers reach the console, such as https://deskbridge.example.org"
    )
    oidc_issuer: str | None = Field(
        default=None, description="OpenID provider that signs people in to the console's pages"
    )
    oidc_client_id: str | None = Field(default=None, description="Client that the provider knows us by")
    oidc_client_secret: SecretStr | None = Field(default=None, description="Secret of that client")
    oidc_scopes: str = Field(default="openid profile email", description="What the provider is asked for")
    oidc_name_claim: str = Field(
        default="preferred_username", description="Claim of the ID token that is the account's name"
    )
    oidc_roles_claim: str = Field(default="groups", description="Claim with somebody's groups")
    oidc_roles: Annotated[dict[str, Literal["viewer", "operator", "administrator"]], NoDecode] = Field(
        default={}, description="JSON object: group to role; somebody with none of them is refused"
    )
    oidc_makes_accounts: bool = Field(
        default=False, description="Make an account for somebody whom the provider signs in and who has none"
    )
    trusted_proxies: Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode] = Field(
        default=(), description="Comma-separated addresses or networks whose X-Forwarded-For is believed"
    )
    sweep_interval: float = Field(default=10, gt=0, description="Seconds between two sweeps")
    lock_lease: float = Field(default=60, gt=0, description="Seconds a ticket's lock lives without renewal")
    claim_lease: float = Field(default=20, gt=0, description="Seconds in which a claim may send")
    settling_time: float = Field(
        default=15, ge=0, description="Seconds after a lost answer before the tracker is asked"
    )
    metadata_interval: float = Field(
        default=3600, gt=0, description="Seconds between two metadata synchronisations"
    )
    retention_days: float = Field(
        default=90, gt=0, description="Days that ended events and the trace are kept"
    )
    changes_days: float = Field(
        default=730, gt=0, description="Days that the record of who changed what is kept"
    )
    rate_limit: float = Field(default=0, ge=0, description="Calls per second to the tracker, 0 = no limit")
    allow_link_local: bool = Field(
        default=False, description="Let the tracker be at a link-local or cloud-metadata address"
    )
    monitor_listen: str | None = Field(
        default=None,
        description="HOST:PORT of a worker's or beat's /livez, /readyz and /metrics; none: it has no port",
    )
    heartbeat_path: str | None = Field(
        default=None, description="File that a worker or beat touches every 5 s while it lives"
    )
    correct_authors: bool = Field(
        default=False, description="Let people give hours to whom they were meant for (`correct-author`)"
    )
    log_format: Literal["console", "json"] | None = Field(
        default=None, description="console on a terminal, else json"
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 (pydantic names it)
        init_settings: PydanticBaseSettingsSource,
        *_: Any,
        **__: Any,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take what is handed over and nothing else: `load_settings` is the one that reads the environment."""
        return (init_settings,)

    @field_validator(
        "secret_keys",
        "webhook_secrets",
        "glpi_webhook_secrets",
        "console_tokens",
        "trusted_proxies",
        mode="before",
    )
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("oidc_roles", mode="before")
    @classmethod
    def _object(cls, value: object) -> object:
        try:
            return json.loads(value or "{}") if isinstance(value, str) else value
        except ValueError:
            raise ValueError('expected a JSON object such as {"desk-admins": "administrator"}') from None

    @field_validator("secret_keys")
    @classmethod
    def _fernet(cls, keys: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        for key in keys:
            try:
                Fernet(key.get_secret_value())
            except ValueError:
                raise ValueError(
                    "each must be a Fernet key: 32 bytes in URL-safe base64 (make one: `deskbridge make-key`)"
                ) from None
        return keys

    @field_validator("console_tokens")
    @classmethod
    def _guessable(cls, tokens: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if any(len(token.get_secret_value().encode()) < SHORTEST_TOKEN for token in tokens):
            raise ValueError(
                f"a token has less than {SHORTEST_TOKEN} bytes, so that it could be guessed "
                "(make one: `deskbridge make-token`)"
            )
        return tokens

    @field_validator("trusted_proxies")
    @classmethod
    def _somebody(
        cls, networks: tuple[IPv4Network | IPv6Network, ...]
    ) -> tuple[IPv4Network | IPv6Network, ...]:
        if any(network.prefixlen == 0 for network in networks):
            raise ValueError("a network of all addresses would let everybody name an address of their choice")
        return networks

    @field_validator("monitor_listen")
    @classmethod
    def _address(cls, address: str | None) -> str | None:
        host, _, port = (address or "").rpartition(":")
        if address and not (host and port.isascii() and port.isdigit() and int(port) < 65536):
            raise ValueError("expected HOST:PORT, such as 127.0.0.1:9101")
        return address or None

    @field_validator("console_url")
    @classmethod
    def _origin(cls, url: str | None) -> str | None:
        parts = urlsplit(url or "")
        if url and (parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/")):
            raise ValueError("expected an address without a path, such as https://deskbridge.example.org")
        return url.rstrip("/") if url else None

    @field_validator("database_url")
    @classmethod
    def _database(cls, url: SecretStr) -> SecretStr:
        try:
            driver = make_url(url.get_secret_value()).drivername
        except ArgumentError:
            driver = ""
        if driver not in DRIVERS:
            raise ValueError("expected postgresql+psycopg2://USER@HOST/DATABASE or sqlite:///FILE")
        return url

    @field_validator("redis_url")
    @classmethod
    def _redis(cls, url: SecretStr) -> SecretStr:
        if not url.get_secret_value().startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("expected redis://HOST:PORT/NUMBER")
        return url

    @model_validator(mode="after")
    def _leases(self) -> Settings:
        if self.lock_lease < self.claim_lease:
            raise ValueError("LOCK_LEASE must not be shorter than CLAIM_LEASE: the lock outlives the work")
        return self

    @model_validator(mode="after")
    def _glpi_api(self) -> Settings:
        parts = ("client_id", "client_secret", "user", "password")
        missing = [part for part in parts if getattr(self, f"glpi_api_{part}") is None]
        if self.glpi_api_url and missing:
            raise ValueError(
                "GLPI_API_URL needs " + ", ".join(f"GLPI_API_{part.upper()}" for part in missing)
            )
        return self

    @model_validator(mode="after")
    def _oidc(self) -> Settings:
        if self.oidc_issuer is None:
            return self
        parts = urlsplit(self.oidc_issuer)
        if not parts.netloc or not (
            parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
        ):
            raise ValueError("OIDC_ISSUER must be an https address (http only on this machine)")
        missing = [name for name in ("oidc_client_id", "console_url") if getattr(self, name) is None]
        if missing:
            raise ValueError("OIDC_ISSUER needs " + ", ".join(name.upper() for name in missing))
        return self

    @property
    def is_loaded(self) -> bool:
        """Whether the environment has any setting at all."""
        return bool(self.model_fields_set)

    @property
    def broker(self) -> str:
        """The broker's URL: BROKER_URL, else REDIS_URL."""
        return (self.broker_url or self.redis_url).get_secret_value()


def load_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the environment once, with NAME_FILE in place of NAME where given.

    Args:
        environ: the environment, the process's own by default.

    Returns:
        The validated settings.

    Raises:
        SettingsError: naming every variable that is unknown, unreadable or wrong, never its value.
    """
    given = _with_files(environ if environ is not None else os.environ)
    unknown = sorted(PREFIX + name.upper() for name in given if name not in Settings.model_fields)
    if unknown:
        raise SettingsError(
            f"unknown variable{'s' if len(unknown) > 1 else ''} {', '.join(unknown)}: "
            "see `deskbridge --help` and docs/configuration.md for those that exist"
        )
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        faults = [
            f"{PREFIX}{path.partition('.')[0].upper()}: {problem}" if path else problem
            for path, problem in model_faults(error)
        ]
        raise SettingsError("; ".join(faults)) from None


def without_others_secrets(environ: Mapping[str, str] | None = None) -> tuple[list[str], dict[str, str]]:
    """Take out what the producer must not hold.

    Args:
        environ: the environment, the process's own by default.

    Returns:
        The variables that were taken out, and the environment without them.
    """
    given = dict(environ if environ is not None else os.environ)
    others = {f"{PREFIX}{name}{end}" for name in NOT_THE_PRODUCERS for end in ("", "_FILE")}
    dropped = sorted(name for name in given if name.upper() in others)
    return dropped, {name: value for name, value in given.items() if name not in dropped}


def _with_files(environ: Mapping[str, str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for variable, value in environ.items():
        if not variable.upper().startswith(PREFIX):
            continue
        name = variable.upper().removeprefix(PREFIX)
        if name.endswith("_FILE"):
            name = name.removesuffix("_FILE")
            try:
                value = Path(value).read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise SettingsError(f"{variable}: the file cannot be read ({type(error).__name__})") from None
        given[name.lower()] = value
    return given
