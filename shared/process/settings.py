"""The environment settings (prefix DESKBRIDGE_, each also as *_FILE), read only here.

All other code receives a `Settings`; only `shared.process.environment` also reads `os.environ`, before this module.
"""

from __future__ import annotations

import json
import os
import ssl
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from shared.errors import SettingsError
from shared.notices.invalid import Invalid, faulty
from shared.notices.system_refusals import SystemRefusal
from shared.process import urls
from shared.process.environment import PREFIX
from shared.values.validation import Unfit, model_faults, parts_of

FERNET_KEY_BYTES = 32
LOOPBACK = ("127.0.0.1", "::1", "localhost")
SHORTEST_TOKEN = 16
"""Fewest bytes of a bearer token; a shorter token could be guessed."""


def _split(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _none(value: object) -> object:
    return None if value == "" else value


COMMAS, NONE = BeforeValidator(_split), BeforeValidator(_none)
"""A list is separated by commas; an empty text is no value."""
SecretList = Annotated[tuple[SecretStr, ...], COMMAS]
OptionalSecret = Annotated[SecretStr | None, NONE]


class Settings(BaseModel):
    """Every setting of every process, validated at start.

    Secrets are `SecretStr`, so that no repr, log line or error shows one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, validate_default=True)

    database_url: Annotated[SecretStr, AfterValidator(urls.database)] = Field(
        default=SecretStr("sqlite:///var/deskbridge.sqlite3"),
        description="SQLAlchemy URL; PostgreSQL in production: `postgresql+psycopg2://…`",
    )
    redis_url: Annotated[SecretStr, AfterValidator(urls.redis)] = Field(
        default=SecretStr("redis://127.0.0.1:6379/0"),
        description=(
            "Locks, pauses, limits, heartbeats, and the queue unless BROKER_URL is set. Run Redis with "
            "`appendonly yes` and `maxmemory-policy noeviction`. For Redis Sentinel, use "
            "`redis+sentinel://HOST:26379,HOST:26379/0?master=NAME` (docs/how-to/high-availability.md)"
        ),
    )
    broker_url: Annotated[OptionalSecret, AfterValidator(urls.broker)] = Field(
        default=None,
        description=(
            "A broker other than REDIS_URL: RabbitMQ (`amqp://…`, docs/how-to/high-availability.md), or "
            "another one that Celery supports"
        ),
    )
    secret_keys: SecretList = Field(
        default=(),
        description=(
            "Comma-separated Fernet keys: the first encrypts, all decrypt. Required by workers and by "
            "commands that use the API key; the producer does not need them and discards them"
        ),
    )
    webhook_secrets: SecretList = Field(
        default=(),
        description=(
            "Comma-separated signing secrets, `whsec_<base64>`; use several during a rotation. The producer "
            "does not start without one"
        ),
    )
    allow_unsigned: bool = Field(
        default=False,
        description="Accept unsigned events; only allowed on a loopback address, for a first try",
    )
    event_limit: float = Field(
        default=200,
        ge=0,
        description=(
            "Events per second that a producer process accepts for one signing secret (also one of GLPI's), "
            "with bursts of ten seconds' worth. An event larger than 16 KiB counts as several. Above the limit "
            "the producer answers 429 with Retry-After. 0: no limit"
        ),
    )
    glpi_webhook_secrets: SecretList = Field(
        default=(),
        description=(
            "Secrets of GLPI's own webhooks as entered in GLPI, comma-separated (`deskbridge secret token`); at "
            "least 16 bytes each; use several during a rotation. None: the webhook URLs answer 404"
        ),
    )
    glpi_api_url: Annotated[str | None, AfterValidator(urls.helpdesk)] = Field(
        default=None,
        description=(
            "GLPI's URL, such as https://glpi.example.org. If set, workers query its API for data that its "
            "webhooks leave out, for documents, and once a day for missed events. `deskbridge reconcile` and "
            "`deskbridge doctor` query it too"
        ),
    )
    glpi_api_client_id: str | None = Field(
        default=None, description="Id of a GLPI OAuth client with the grant *password* and the scope *api*"
    )
    glpi_api_client_secret: OptionalSecret = Field(default=None, description="That client's secret")
    glpi_api_user: str | None = Field(
        default=None,
        description="A GLPI user who may read the tickets, tasks, users and documents of every entity",
    )
    glpi_api_password: OptionalSecret = Field(default=None, description="That user's password")
    helpdesk_wait: float = Field(
        default=3600,
        ge=0,
        description=(
            "Seconds that an event waits if GLPI's API cannot be reached; after that it is processed without "
            "the missing data"
        ),
    )
    console_tokens: SecretList = Field(
        default=(),
        description=(
            "Comma-separated bearer tokens of the console's API with all rights (`deskbridge secret token`); at "
            "least 16 bytes each; use several during a rotation. Named tokens with fewer rights are in the "
            "database (`deskbridge account token`)"
        ),
    )
    console_url: Annotated[str | None, AfterValidator(urls.console)] = Field(
        default=None,
        description=(
            "The console's URL in browsers, such as `https://deskbridge.example.org`: for sign-in "
            "links, and if a proxy changes the Host header"
        ),
    )
    oidc_issuer: str | None = Field(
        default=None,
        description=(
            "Issuer URL of an OpenID provider for sign-in to the console (docs/how-to/console-accounts.md), "
            "exactly as the provider states it; requires the extra `sso`, CONSOLE_URL and SECRET_KEYS"
        ),
    )
    oidc_client_id: str | None = Field(default=None, description="deskbridge's client id at the provider")
    oidc_client_secret: OptionalSecret = Field(
        default=None, description="Its secret; none for a public client"
    )
    oidc_scopes: str = Field(default="openid profile email", description="Scopes that deskbridge requests")
    oidc_name_claim: str = Field(
        default="preferred_username",
        description=(
            "Claim of the ID token that contains the account's name. Choose one that users cannot change themselves"
        ),
    )
    oidc_roles_claim: str = Field(default="groups", description="Claim that contains the user's groups")
    oidc_roles: dict[str, Literal["viewer", "operator", "administrator"]] = Field(
        default={},
        description=(
            "JSON object, group to role (viewer, operator, administrator). Each sign-in gives the highest "
            "role; users without one are rejected. Empty: accounts keep their role"
        ),
    )
    oidc_makes_accounts: bool = Field(
        default=False,
        description=(
            "Create an account for users without one when the provider signs them in: as viewer, unless "
            "OIDC_ROLES gives another role"
        ),
    )
    trusted_proxies: Annotated[tuple[IPv4Network | IPv6Network, ...], COMMAS] = Field(
        default=(),
        description=(
            "Comma-separated addresses or networks of your own reverse proxies, such as "
            "`10.0.0.5,fd00:1::/64`. The client's address is read from their X-Forwarded-For header, and they "
            "can open any number of connections. The header of other clients is ignored. List only "
            "proxies that replace the header or append to it"
        ),
    )
    quiet_hours: float = Field(
        default=24,
        gt=0,
        description=(
            "Hours without any event after which the doctor, the console and an alert warn that GLPI may not "
            "be sending; increase it if weekends are quiet"
        ),
    )
    sweep_interval: float = Field(
        default=10,
        gt=0,
        description="Seconds between two sweeps, which is an event's maximum delay if its queue message is lost",
    )
    lock_lease: float = Field(
        default=60,
        gt=0,
        description="Seconds until a dead worker's lock on a ticket expires; not shorter than CLAIM_LEASE",
    )
    claim_lease: float = Field(
        default=20, gt=0, description="Seconds in which a worker may send after a claim: four calls of 5 s"
    )
    settling_time: float = Field(
        default=15,
        ge=0,
        description="Seconds between a lost answer and the search in Redmine; keep it above the timeout of 5 s",
    )
    metadata_interval: float = Field(
        default=3600,
        gt=0,
        description="Seconds between two successful readings of Redmine's metadata",
    )
    retention_days: float = Field(
        default=90,
        gt=0,
        description="Days to keep finished events and ticket histories; links are kept permanently",
    )
    changes_days: float = Field(default=730, gt=0, description="Days to keep the audit log")
    rate_limit: float = Field(
        default=0,
        ge=0,
        description=(
            "Maximum calls to Redmine per second over all workers, evenly spaced; 0: no limit. "
            "Tickets stay locked while their calls wait"
        ),
    )
    ca_file: Annotated[str | None, NONE] = Field(
        default=None,
        description=(
            "File with certificates (PEM) of your own authorities, trusted in addition to the system's list "
            "for Redmine, GLPI and the OpenID provider. OpenSSL's SSL_CERT_FILE replaces the system's list"
        ),
    )
    proxy_url: Annotated[OptionalSecret, AfterValidator(urls.proxy)] = Field(
        default=None,
        description=(
            "HTTP proxy for calls to Redmine, GLPI and the OpenID provider, such as "
            "`http://proxy.example.org:3128` or `http://USER:PASSWORD@proxy.example.org:3128`. HTTPS_PROXY and "
            "similar variables are not used"
        ),
    )
    no_proxy: Annotated[tuple[str, ...], COMMAS] = Field(
        default=(),
        description=(
            "Comma-separated hosts to call without PROXY_URL; `.example.org` covers all hosts below it"
        ),
    )
    allow_link_local: bool = Field(
        default=False,
        description=(
            "Allow base_url to lead to a link-local address or a cloud provider's metadata service. Loopback "
            "and private networks are always allowed"
        ),
    )
    monitor_listen: str | None = Field(
        default=None,
        description=(
            "HOST:PORT on which a worker or beat serves /livez, /readyz and /metrics, such as "
            "127.0.0.1:9101; a different port for each process on a machine. None: no port. Producer and "
            "console serve them on their own port"
        ),
    )
    heartbeat_path: str | None = Field(
        default=None,
        description=(
            "File that a worker or beat touches every 5 s: a health check can read its age without the broker"
        ),
    )
    log_format: Literal["console", "json"] | None = Field(
        default=None, description="`console` or `json`; console on a terminal, else JSON"
    )
    sentry_dsn: OptionalSecret = Field(
        default=None,
        description=(
            "DSN of a Sentry project for error reports, which contain no ticket texts, users or secrets "
            "(extra `sentry`). None: no reports"
        ),
    )
    otlp_endpoint: str | None = Field(
        default=None,
        description=(
            "URL of an OpenTelemetry collector, such as `http://127.0.0.1:4318`: producer and worker send "
            "their traces by OTLP over HTTP (extra `otel`). None: no traces"
        ),
    )

    @field_validator("*", mode="before")
    @classmethod
    def _as_written(cls, value: object, field: ValidationInfo) -> object:
        if isinstance(value, str) and field.field_name != "oidc_roles":
            if set("\r\n") & set(value.strip()):
                raise Unfit(Invalid.LINE_BREAK_INSIDE())
            if value[:1] in ("'", '"') and str(field.field_name).endswith("_url"):
                raise Unfit(Invalid.URL_IN_QUOTES())
        return value

    @field_validator("oidc_roles", mode="before")
    @classmethod
    def _object(cls, value: object) -> object:
        try:
            return json.loads(value or "{}") if isinstance(value, str) else value
        except ValueError:
            raise Unfit(Invalid.ROLES_EXPECTED(example='{"desk-admins": "administrator"}')) from None

    @field_validator("ca_file")
    @classmethod
    def _certificates(cls, file: str | None) -> str | None:
        if file is not None:
            try:
                ssl.create_default_context(cafile=file)
            except (OSError, ValueError):  # neither tells more
                raise Unfit(Invalid.CERTIFICATES_EXPECTED()) from None
        return file

    @field_validator("secret_keys")
    @classmethod
    def _fernet(cls, keys: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        for key in keys:
            try:
                length = len(urlsafe_b64decode(key.get_secret_value()))
            except ValueError:
                length = 0
            if length != FERNET_KEY_BYTES:
                raise Unfit(Invalid.FERNET_KEY_EXPECTED())
        return keys

    @field_validator("console_tokens")
    @classmethod
    def _guessable(cls, tokens: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if any(len(token.get_secret_value().encode()) < SHORTEST_TOKEN for token in tokens):
            raise Unfit(Invalid.TOKEN_TOO_SHORT(least=SHORTEST_TOKEN))
        return tokens

    @field_validator("trusted_proxies")
    @classmethod
    def _somebody(
        cls, networks: tuple[IPv4Network | IPv6Network, ...]
    ) -> tuple[IPv4Network | IPv6Network, ...]:
        if any(network.prefixlen == 0 for network in networks):
            raise Unfit(Invalid.NETWORK_OF_EVERYBODY())
        return networks

    @field_validator("monitor_listen")
    @classmethod
    def _address(cls, address: str | None) -> str | None:
        host, _, port = (address or "").rpartition(":")
        if address and not (host and port.isascii() and port.isdigit() and int(port) < 65536):
            raise Unfit(Invalid.HOST_AND_PORT_EXPECTED())
        return address or None

    @model_validator(mode="after")
    def _leases(self) -> Settings:
        if self.lock_lease < self.claim_lease:
            raise Unfit(Invalid.LEASES_REVERSED())
        return self

    @model_validator(mode="after")
    def _glpi_api(self) -> Settings:
        parts = ("client_id", "client_secret", "user", "password")
        missing = [part for part in parts if getattr(self, f"glpi_api_{part}") is None]
        if self.glpi_api_url and missing:
            needed = [f"GLPI_API_{part.upper()}" for part in missing]
            raise Unfit(Invalid.SETTINGS_INCOMPLETE(setting="GLPI_API_URL", missing=needed))
        return self

    @model_validator(mode="after")
    def _oidc(self) -> Settings:
        if self.oidc_issuer is None:
            return self
        parts = parts_of(self.oidc_issuer)
        if (
            parts is None
            or not parts.netloc
            or not (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK))
        ):
            raise Unfit(Invalid.ISSUER_EXPECTED())
        missing = [name for name in ("oidc_client_id", "console_url") if getattr(self, name) is None]
        if missing:
            needed = [name.upper() for name in missing]
            raise Unfit(Invalid.SETTINGS_INCOMPLETE(setting="OIDC_ISSUER", missing=needed))
        return self

    @property
    def is_loaded(self) -> bool:
        """Whether the environment has any setting at all."""
        return bool(self.model_fields_set)

    @property
    def broker(self) -> str:
        """The broker's URL: BROKER_URL, else REDIS_URL."""
        return (self.broker_url or self.redis_url).get_secret_value()

    @property
    def is_broker_redis(self) -> bool:
        """Whether the broker is the Redis database that REDIS_URL names."""
        return self.broker == self.redis_url.get_secret_value()


def load_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Read and validate the environment; NAME_FILE may name a file with the value of NAME.

    Args:
        environ: the environment, the process's own by default.

    Returns:
        The validated settings.

    Raises:
        SettingsError: if variables are unknown, unreadable or wrong; it names them, never their values.
    """
    given = _with_files(environ if environ is not None else os.environ)
    unknown = sorted(PREFIX + name.upper() for name in given if name not in Settings.model_fields)
    if unknown:
        raise SettingsError(SystemRefusal.VARIABLES_UNKNOWN(count=len(unknown), variables=unknown))
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        faults = [
            (f"{PREFIX}{path.partition('.')[0].upper()}" if path else "", problem)
            for path, problem in model_faults(error)
        ]
        raise SettingsError(faulty(SystemRefusal.ENVIRONMENT_NOT_VALID, faults)) from None


def _with_files(environ: Mapping[str, str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for variable, value in environ.items():
        if not variable.upper().startswith(PREFIX):
            continue
        name = variable.upper().removeprefix(PREFIX)
        if name.endswith("_FILE") and name.lower() not in Settings.model_fields:
            name = name.removesuffix("_FILE")
            try:
                value = Path(value).read_text(encoding="utf-8-sig").strip()
            except (OSError, UnicodeDecodeError) as error:
                why = SystemRefusal.VARIABLE_NOT_READ(variable=variable, error=type(error).__name__)
                raise SettingsError(why) from None
        given[name.lower()] = value
    return given
