"""Connection problems with the tracker, GLPI or an OpenID provider are named with host, cause and fix."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pydantic import SecretStr

from producer.admin.doctor.examination import examine
from producer.admin.doctor.finding import CheckResult
from producer.admin.doctor.installation import Installation
from producer.admin.services import Services
from producer.console.auth.oidc import ProviderFailed, _json
from shared.helpdesk.glpi import GlpiLookup
from shared.helpdesk.lookup import HelpdeskUnreachable
from shared.notices.doctor_tracker import TrackerFinding
from shared.notices.faults import Detail, HelpdeskFault
from shared.process.outbound import Outbound
from tests.failures.stage import Stage
from tests.support.glpi_api import glpi_api
from tests.support.tls import HOST, Authority, Relay

pytestmark = pytest.mark.stand_in


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Provide a certificate authority that is trusted only through its file."""
    return Authority(tmp_path)


@pytest.fixture
def front(stage: Stage, authority: Authority) -> Iterator[Relay]:
    """Provide a TLS web server in front of the tracker, to which base_url leads."""
    port = urlsplit(stage.tracker.base_url).port or 0
    with Relay(port, authority.context()).running() as relay:
        stage.bridge.configure(base_url=f"https://{HOST}:{relay.port}")
        yield relay


def tracker(stage: Stage, **settings: Any) -> CheckResult:
    """Return the doctor's result for the tracker with some environment settings."""
    changed = stage.bridge.settings.model_copy(update=settings)
    services = Services(changed, stage.bridge.store)
    found = list(examine(Installation.of(services)))  # to the end, since the doctor calls in its own thread
    return next(one for one in found if one.check == "tracker")


def cause(found: CheckResult) -> str:
    """Return the code of the problem that the doctor quotes."""
    assert found.found.code == TrackerFinding.TRACKER_NOT_REACHED, found.what
    return str(found.found.params["problem"].code)


def test_an_own_authority_is_trusted_once_its_file_is_named(
    stage: Stage, front: Relay, authority: Authority
) -> None:
    found = tracker(stage)
    assert cause(found) == Detail.CERTIFICATE_OF_UNKNOWN_AUTHORITY
    assert found.what == f"the certificate of {HOST} was issued by an unknown authority"
    assert "DESKBRIDGE_CA_FILE" in found.todo
    assert tracker(stage, ca_file=str(authority.file)).found.code == TrackerFinding.TRACKER_ANSWERS
    assert front.context is not None


def test_a_certificate_that_expired_is_named_with_its_date(
    stage: Stage, front: Relay, authority: Authority
) -> None:
    front.context = authority.context(days=-3)
    found = tracker(stage, ca_file=str(authority.file))
    assert cause(found) == Detail.CERTIFICATE_EXPIRED
    assert f"the certificate of {HOST} expired on 20" in found.what
    assert found.todo == "renew the certificate on that server"
    front.context = authority.context()
    assert tracker(stage, ca_file=str(authority.file)).found.code == TrackerFinding.TRACKER_ANSWERS


def test_a_certificate_for_another_name_is_named_with_the_names_that_it_has(
    stage: Stage, front: Relay, authority: Authority
) -> None:
    front.context = authority.context("localhost", "redmine.example.org")
    found = tracker(stage, ca_file=str(authority.file))
    assert cause(found) == Detail.CERTIFICATE_OF_ANOTHER
    assert "localhost, redmine.example.org" in found.what
    assert "use a name from the certificate in the URL, or get a certificate for this name" in found.todo
    stage.bridge.configure(base_url=f"https://localhost:{front.port}")
    assert tracker(stage, ca_file=str(authority.file)).found.code == TrackerFinding.TRACKER_ANSWERS


@pytest.mark.parametrize(
    ("number", "code"),
    [(socket.EAI_NONAME, Detail.NAME_UNKNOWN), (socket.EAI_AGAIN, Detail.NAME_NOT_RESOLVED)],
)
def test_a_name_that_is_gone_is_named(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, number: int, code: Detail
) -> None:
    look_up = socket.getaddrinfo

    def gone(host: Any, *given: Any, **named: Any) -> Any:
        if host == "redmine.gone.example":
            raise socket.gaierror(number, "who?")
        return look_up(host, *given, **named)

    monkeypatch.setattr("socket.getaddrinfo", gone)
    before = stage.tracker.base_url
    stage.bridge.configure(base_url="https://redmine.gone.example")
    found = tracker(stage)
    assert cause(found) == code
    assert "redmine.gone.example" in found.what
    stage.bridge.configure(base_url=before)
    assert tracker(stage).found.code == TrackerFinding.TRACKER_ANSWERS


@pytest.mark.parametrize("is_secured", [True, False], ids=["https", "http"])
def test_the_tracker_is_called_by_a_proxy(
    stage: Stage, front: Relay, authority: Authority, *, is_secured: bool
) -> None:
    if not is_secured:
        stage.bridge.configure(base_url=stage.tracker.base_url)
    with Relay(is_proxy=True).running() as proxy:
        given = {
            "ca_file": str(authority.file),
            "proxy_url": SecretStr(f"http://me:p%40ss@{HOST}:{proxy.port}"),
        }
        assert tracker(stage, **given).found.code == TrackerFinding.TRACKER_ANSWERS
        line, said = proxy.requests[0]
        assert line.startswith("CONNECT" if is_secured else f"GET {stage.tracker.base_url}/users.json")
        assert said == "Basic bWU6cEBzcw=="
        proxy.requests.clear()
        assert tracker(stage, **given, no_proxy=(HOST,)).found.code == TrackerFinding.TRACKER_ANSWERS
        assert proxy.requests == []
        assert front.port


def test_a_proxy_that_does_not_connect_is_named(stage: Stage, front: Relay, authority: Authority) -> None:
    with Relay(is_proxy=True).running() as proxy:
        proxy.refuses = 403
        found = tracker(
            stage, ca_file=str(authority.file), proxy_url=SecretStr(f"http://{HOST}:{proxy.port}")
        )
    assert cause(found) == Detail.PROXY_REFUSED
    assert f"proxy {HOST}:{proxy.port} refused to connect to {HOST} (status 403)" in found.what
    assert "DESKBRIDGE_NO_PROXY" in found.todo
    assert front.port


def test_glpi_is_trusted_by_the_same_file_and_called_by_the_same_proxy(authority: Authority) -> None:
    with glpi_api() as served, Relay(is_proxy=True).running() as proxy:
        port = urlsplit(served.access.url).port or 0
        with Relay(port, authority.context()).running() as relay:
            url = f"https://{HOST}:{relay.port}"

            def now(outbound: Outbound) -> object:
                return GlpiLookup(replace(served.access, url=url, outbound=outbound)).now()

            with pytest.raises(HelpdeskUnreachable) as refused:
                now(Outbound())
            assert refused.value.problem.code == HelpdeskFault.HELPDESK_CALL_FAILED
            assert f"the certificate of {HOST} was issued by an unknown authority" in str(refused.value)
            assert now(Outbound(str(authority.file)))
            by_proxy = Outbound(str(authority.file), SecretStr(f"http://{HOST}:{proxy.port}"))
            assert now(by_proxy)
    assert {line.split()[0] for line, _ in proxy.requests} == {"CONNECT"}


def test_an_openid_provider_whose_certificate_expired_is_named(authority: Authority) -> None:
    with Relay(1, authority.context(days=-1)).running() as relay, pytest.raises(ProviderFailed) as refused:
        _json(
            Outbound(str(authority.file)),
            "GET",
            f"https://{HOST}:{relay.port}/.well-known/openid-configuration",
        )
    assert f"the certificate of {HOST} expired on 20" in str(refused.value)
