"""The environment settings: defaults, values from files, and errors that name the variable."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import certifi
import pytest
from sqlalchemy import make_url

from shared.errors import SettingsError
from shared.process.outbound import Outbound
from shared.process.settings import Settings, load_settings

ROOT = Path(__file__).resolve().parents[2]
KEY = base64.urlsafe_b64encode(b"k" * 32).decode()
SECRETS = {
    "DATABASE_URL": "postgresql+psycopg2://bridge:hidden-word@127.0.0.1/bridge",
    "REDIS_URL": "redis://:hidden-word@127.0.0.1/0",
    "BROKER_URL": "amqp://bridge:hidden-word@127.0.0.1//",
    "SECRET_KEYS": KEY,
    "WEBHOOK_SECRETS": "whsec_hidden-word",
    "GLPI_WEBHOOK_SECRETS": "hidden-word",
    "CONSOLE_TOKENS": "a-long-hidden-word",
    "CONSOLE_URL": "https://deskbridge.example.org",
    "CHANGES_DAYS": "30",
    "OIDC_CLIENT_SECRET": "hidden-word",
    "TRUSTED_PROXIES": "192.0.2.1,2001:db8::/32",
}


def loaded(**values: str) -> Settings:
    return load_settings({f"DESKBRIDGE_{name}": value for name, value in values.items()})


def refusal(**values: str) -> str:
    with pytest.raises(SettingsError) as failure:
        loaded(**values)
    return str(failure.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg2://bridge:a/b:c#d?e@db.example.org:5432/bridge",
        "postgresql+psycopg2://bridge@/bridge?host=/run/postgresql",
        "postgresql+psycopg2://bridge@[::1]:5432/bridge?sslmode=require",
        "sqlite:////var/lib/deskbridge/desk.sqlite3",
        "sqlite://",
    ],
)
def test_a_database_s_url_is_taken_as_sqlalchemy_takes_it(url: str) -> None:
    assert loaded(DATABASE_URL=url).database_url.get_secret_value() == url
    assert make_url(url).drivername in ("postgresql+psycopg2", "sqlite")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u@h/d",
        "mysql+pymysql://u@h/d",
        "postgresql+psycopg2://u@h:port/d",
        "sqlite:/file",
        "u@h",
    ],
)
def test_any_other_database_is_refused(url: str) -> None:
    assert "DATABASE_URL" in refusal(DATABASE_URL=url)


def test_the_defaults_are_those_of_the_contract() -> None:
    settings = loaded()
    assert settings.database_url.get_secret_value().startswith("sqlite:///var/")
    assert settings.redis_url.get_secret_value() == "redis://127.0.0.1:6379/0"
    assert settings.broker == "redis://127.0.0.1:6379/0"
    assert settings.broker_url is None
    for name in ("secret_keys", "webhook_secrets", "glpi_webhook_secrets", "console_tokens"):
        assert getattr(settings, name) == ()
    assert settings.log_format is None
    assert settings.allow_unsigned is False
    numbers = {"sweep_interval": 10, "lock_lease": 60, "claim_lease": 20, "settling_time": 15,
               "metadata_interval": 3600, "retention_days": 90, "rate_limit": 0, "event_limit": 200}  # fmt: skip
    assert {name: getattr(settings, name) for name in numbers} == numbers


def test_the_broker_is_redis_unless_named() -> None:
    assert loaded(REDIS_URL="redis://a/1").broker == "redis://a/1"
    assert loaded(REDIS_URL="redis://a/1", BROKER_URL="amqp://b").broker == "amqp://b"
    assert loaded(REDIS_URL="redis://a/1", BROKER_URL="").broker == "redis://a/1"


@pytest.mark.parametrize("name", ["DATABSE_URL", "API_KEY", "NONSENSE_FILE", "WEBHOOK_SECRET"])
def test_an_unknown_variable_is_an_error_that_names_it(name: str) -> None:
    message = refusal(**{name: "hidden-word"})
    assert f"DESKBRIDGE_{name.removesuffix('_FILE')}" in message
    assert "hidden-word" not in message


def test_every_setting_is_read_by_something() -> None:
    files = [one for part in ("worker", "producer", "shared") for one in (ROOT / part).rglob("*.py")]
    source = "\n".join(one.read_text(encoding="utf-8") for one in files if one.name != "settings.py")
    for name in sorted(Settings.model_fields):
        read_as = "broker" if name == "broker_url" else name
        assert re.search(rf"\.{read_as}\b|\"{name}\"", source), name


def test_variables_of_others_are_none_of_ours() -> None:
    assert load_settings({"PATH": "/bin", "DESK": "1", "XDESKBRIDGE_A": "1"}) == loaded()


def test_only_the_environment_that_was_handed_over_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESKBRIDGE_RATE_LIMIT", "7")
    assert load_settings({}).rate_limit == 0
    assert load_settings().rate_limit == 7


GLPI_API = {
    "GLPI_API_URL": "https://glpi.example.org",
    "GLPI_API_CLIENT_ID": "client",
    "GLPI_API_CLIENT_SECRET": "client-secret",
    "GLPI_API_USER": "deskbridge",
    "GLPI_API_PASSWORD": "pass-word",
}
OIDC = {
    "CONSOLE_URL": "https://deskbridge.example.org",
    "OIDC_ISSUER": "https://login.example.org/realms/work",
    "OIDC_CLIENT_ID": "deskbridge",
    "OIDC_SCOPES": "openid groups",
    "OIDC_NAME_CLAIM": "upn",
    "OIDC_ROLES_CLAIM": "roles",
    "OIDC_ROLES": '{"desk": "operator"}',
    "OIDC_MAKES_ACCOUNTS": "1",
}


def test_the_helpdesk_s_api_is_named_whole_or_not_at_all() -> None:
    assert loaded(**GLPI_API).glpi_api_url == "https://glpi.example.org"
    for part in GLPI_API:
        rest = {name: value for name, value in GLPI_API.items() if name != part}
        if part != "GLPI_API_URL":
            assert part in refusal(**rest)


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_every_variable_can_come_from_a_file(name: str, tmp_path: Path) -> None:
    values = {**SECRETS, "SWEEP_INTERVAL": "3", "LOCK_LEASE": "70", "CLAIM_LEASE": "5", "SETTLING_TIME": "2",
              "METADATA_INTERVAL": "60", "RETENTION_DAYS": "2", "QUIET_HOURS": "60", "RATE_LIMIT": "4",
              "LOG_FORMAT": "json",
              "ALLOW_UNSIGNED": "1", "EVENT_LIMIT": "50", "CA_FILE": certifi.where(),
              "PROXY_URL": "http://me:hidden-word@proxy:3128", "NO_PROXY": "tracker,.internal",
              "ALLOW_LINK_LOCAL": "1", "HELPDESK_WAIT": "9",
              "MONITOR_LISTEN": "127.0.0.1:9101", "HEARTBEAT_PATH": "/run/beat",
              "OTLP_ENDPOINT": "http://127.0.0.1:4318", "SENTRY_DSN": "https://hidden-word@sentry.example.org/1",
              **GLPI_API, **OIDC}  # fmt: skip
    file = tmp_path / name
    file.write_text(f"{values[name.upper()]}\n")
    others = (
        GLPI_API if name.startswith("glpi_api") else OIDC if name in ("oidc_issuer", "console_url") else {}
    )
    given: dict[str, str] = {one: value for one, value in others.items() if one != name.upper()}
    from_file = loaded(**given, **{f"{name.upper()}_FILE": str(file)})
    assert getattr(from_file, name) == getattr(loaded(**given, **{name.upper(): values[name.upper()]}), name)


@pytest.mark.parametrize(
    "name", ["broker_url", "glpi_api_client_secret", "glpi_api_password", "oidc_client_secret"]
)
def test_a_secret_whose_file_is_empty_is_none(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text("\n")
    assert getattr(loaded(**{f"{name.upper()}_FILE": str(file)}), name) is None


def test_a_file_of_authorities_and_a_proxy_are_looked_at_where_they_are_set(tmp_path: Path) -> None:
    none = tmp_path / "none.pem"
    none.write_text("nothing")
    for wrong in (str(none), str(tmp_path / "missing")):
        assert "DESKBRIDGE_CA_FILE" in refusal(CA_FILE=wrong)
    for wrong in ("proxy:3128", "https://proxy:3128", "http://proxy/path"):
        assert "DESKBRIDGE_PROXY_URL" in refusal(PROXY_URL=wrong)
    found = Outbound.of(loaded(PROXY_URL="http://proxy:3128", NO_PROXY="tracker,.internal"))
    assert [found.proxy_for(one) is None for one in ("tracker", "a.internal", "internal", "other")] == [
        True,
        True,
        True,
        False,
    ]


def test_a_file_that_cannot_be_read_is_named_by_its_variable(tmp_path: Path) -> None:
    assert "DESKBRIDGE_SECRET_KEYS_FILE" in refusal(SECRET_KEYS_FILE=str(tmp_path / "none"))
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    assert "DESKBRIDGE_SECRET_KEYS_FILE" in refusal(SECRET_KEYS_FILE=str(binary))


@pytest.mark.parametrize("name", ["SECRET_KEYS", "GLPI_WEBHOOK_SECRETS", "GLPI_API_PASSWORD", "REDIS_URL"])
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_a_second_line_is_refused_since_it_would_be_ignored(
    name: str, line_break: str, tmp_path: Path
) -> None:
    file = tmp_path / "value"
    file.write_bytes(f"{KEY}{line_break}{KEY}{line_break}".encode())
    for given in ({f"{name}_FILE": str(file)}, {name: file.read_text()}):
        assert f"DESKBRIDGE_{name}: must be on one line; separate several keys" in refusal(**given)


def test_roles_may_have_several_lines() -> None:
    assert loaded(OIDC_ROLES='{\n"desk": "operator"\n}').oidc_roles == {"desk": "operator"}


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "database"
    file.write_text("\ufeff" + SECRETS["DATABASE_URL"] + "\r\n")
    assert loaded(DATABASE_URL_FILE=str(file)).database_url == loaded(**SECRETS).database_url


@pytest.mark.parametrize(
    "name", ["DATABASE_URL", "REDIS_URL", "BROKER_URL", "PROXY_URL", "GLPI_API_URL", "CONSOLE_URL"]
)
def test_quotes_around_a_url_are_named(name: str) -> None:
    for quote in "'\"":
        assert f"DESKBRIDGE_{name}: remove the quotation marks" in refusal(
            **{name: f"{quote}http://h/0{quote}"}
        )


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("DATABASE_URL", "postgresql+psycopg2://bridge:hidden-p@ss@127.0.0.1/bridge"),
        ("REDIS_URL", "redis://:hidden/word@127.0.0.1/0"),
        ("REDIS_URL", "redis://:hidden#word@127.0.0.1/0"),
    ],
)
def test_a_sign_that_a_password_must_not_contain_is_named(name: str, url: str) -> None:
    message = refusal(**{name: url})
    assert "write @ as %40" in message
    assert "hidden" not in message


def test_a_helpdesk_s_url_needs_its_scheme() -> None:
    message = refusal(**{**GLPI_API, "GLPI_API_URL": "glpi.example.org"})
    assert "DESKBRIDGE_GLPI_API_URL: expected an http or https URL" in message


def test_lists_are_split_at_commas_and_blanks_are_dropped() -> None:
    settings = loaded(GLPI_WEBHOOK_SECRETS=" a , b,,c ")
    assert [secret.get_secret_value() for secret in settings.glpi_webhook_secrets] == ["a", "b", "c"]


def test_secrets_show_neither_in_repr_nor_in_str() -> None:
    settings = loaded(**SECRETS)
    shown = f"{settings!r} {settings} {settings.model_dump()} {settings.model_dump_json()}"
    assert "hidden-word" not in shown
    assert KEY not in shown


WRONG: list[tuple[str, str]] = [
    ("DATABASE_URL", "hidden-word"),
    ("DATABASE_URL", ""),
    ("SECRET_KEYS", "hidden-word"),
    ("SECRET_KEYS", f"{KEY},hidden-word"),
    ("REDIS_URL", "hidden-word"),
    ("REDIS_URL", "redis+sentinel://hidden-word/0"),
    ("BROKER_URL", "redis+sentinel://hidden-word/0"),
    ("BROKER_URL", "sentinel://hidden-word/0"),
    ("ALLOW_UNSIGNED", "hidden-word"),
    ("PROXY_URL", "hidden-word"),
    ("PROXY_URL", "socks5://hidden-word:1080"),
    ("PROXY_URL", "http://hidden-word:port"),
    ("CA_FILE", "/nowhere/hidden-word"),
    ("LOG_FORMAT", "hidden-word"),
    *((name, value)
      for name in ("SWEEP_INTERVAL", "LOCK_LEASE", "CLAIM_LEASE", "METADATA_INTERVAL", "RETENTION_DAYS")
      for value in ("hidden-word", "0", "-1", "nan", "")),
    ("SETTLING_TIME", "-1"),
    ("RATE_LIMIT", "-0.5"),
    ("CONSOLE_TOKENS", "hidden-word"),
    ("CONSOLE_TOKENS", f"{KEY},hidden-word"),
    ("TRUSTED_PROXIES", "hidden-word"),
    ("TRUSTED_PROXIES", "*"),
    ("TRUSTED_PROXIES", "0.0.0.0/0"),
    ("TRUSTED_PROXIES", "::/0"),
]  # fmt: skip


@pytest.mark.promise("SEC-26")
@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_value_is_named_but_not_shown(name: str, value: str) -> None:
    message = refusal(**{name: value})
    assert f"DESKBRIDGE_{name}:" in message
    assert "hidden-word" not in message


def test_every_wrong_value_is_named_at_once() -> None:
    message = refusal(RATE_LIMIT="x", SWEEP_INTERVAL="y", LOG_FORMAT="z")
    assert all(f"DESKBRIDGE_{name}" in message for name in ("RATE_LIMIT", "SWEEP_INTERVAL", "LOG_FORMAT"))


def test_a_lock_must_outlive_a_claim() -> None:
    assert "LOCK_LEASE" in refusal(LOCK_LEASE="5", CLAIM_LEASE="20")


def test_settings_cannot_be_changed() -> None:
    settings: Any = loaded()
    with pytest.raises(ValueError, match="frozen"):
        settings.rate_limit = 7
