"""Rows about the connection between deskbridge and the tracker."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from shared.process.outbound import Outbound
from shared.redis.keys import key_of
from shared.redis.latency import KEY as LATENCY
from shared.redis.latency import note_calls
from shared.store.tables.journal import EventState
from tests.failures.front import Front, Rule, page, passes, redirects_to
from tests.failures.rows.row import Row
from tests.failures.stage import Act, Stage
from tests.support.tls import HOST, Authority, Relay

NAME = "redmine.example.test"


def trusts(stage: Stage, ca_file: str) -> None:
    """Restart every process with DESKBRIDGE_CA_FILE."""
    stage.patched.setenv("DESKBRIDGE_CA_FILE", ca_file)
    connect: Any = stage.bridge.connect
    connect.__self__._outbound = Outbound(ca_file)


def certificate(days: int) -> Act:
    """Put a TLS web server in front of the tracker, with a certificate that is valid for this many days."""

    def act(stage: Stage) -> None:
        authority = Authority(stage.directory)
        trusts(stage, str(authority.file))
        context = authority.context(days=days)
        relay = stage.during.enter_context(
            Relay(urlsplit(stage.tracker.base_url).port or 0, context).running()
        )
        stage.bridge.configure(base_url=f"https://{HOST}:{relay.port}")
        stage.kept["renew"] = lambda: setattr(relay, "context", authority.context(days=5))

    return act


def renew(stage: Stage) -> None:
    """Renew the certificate on that server."""
    stage.kept["renew"]()


def name_gone(stage: Stage) -> None:
    """Remove the tracker's name from the DNS."""
    look_up, at = socket.getaddrinfo, urlsplit(stage.tracker.base_url)
    names: dict[Any, str] = stage.kept.setdefault("names", {})

    def of_the_test(host: Any, *given: Any, **named: Any) -> Any:
        if host == NAME and NAME not in names:
            raise socket.gaierror(socket.EAI_NONAME, "who?")
        return look_up(names.get(host, host), *given, **named)

    stage.patched.setattr("socket.getaddrinfo", of_the_test)
    stage.bridge.configure(base_url=f"http://{NAME}:{at.port}{at.path}")


def name_back(stage: Stage) -> None:
    """Add the name to the DNS again."""
    stage.kept["names"][NAME] = urlsplit(stage.tracker.base_url).hostname or ""


def in_front(rule: Callable[[str], Rule]) -> Act:
    """Put a web server that follows a rule in front of the tracker."""

    def act(stage: Stage) -> None:
        stage.front = stage.during.enter_context(Front(stage.tracker.base_url).running())
        stage.front.rule = rule(stage.tracker.base_url)
        stage.bridge.configure(base_url=stage.front.address)

    return act


def passes_on(stage: Stage) -> None:
    """Make the server in front forward every call."""
    stage.front.rule = passes


def slow(stage: Stage) -> None:
    """Record workers' calls that took four seconds."""
    note_calls(stage.bridge.redis, {"POST issues": (5, 20.0)})


def quick(stage: Stage) -> None:
    """Delete the recorded calls, as if they had expired while the tracker answered quickly."""
    for key in stage.bridge.redis.scan_iter(f"{key_of(stage.bridge.redis, LATENCY)}*"):
        stage.bridge.redis.delete(key)


ROWS = [
    Row(
        1,
        "the tracker's certificate has expired",
        certificate(-3),
        EventState.PENDING,
        doctor="the certificate of 127.0.0.1 expired on 20",
        step="renew the certificate on that server",
        heal=renew,
        everywhere="the certificate of 127.0.0.1 expired on 20",
        told_before=True,
    ),
    Row(
        2,
        "the tracker redirects from http to https",
        in_front(redirects_to),
        EventState.PENDING,
        doctor="every call is redirected to {tracker}",
        step="`deskbridge config set base_url={tracker} --moved`",
        heal="config set base_url={tracker} --moved",
        everywhere="every call is redirected to {tracker}, and deskbridge does not follow redirects",
        told_before=True,
    ),
    Row(
        3,
        "base_url lacks the path that the tracker is under",
        in_front(lambda _: page(404)),
        EventState.PENDING,
        doctor="is not the Redmine API: GET /users.json answered 404",
        step="`deskbridge config set base_url=… --moved` with Redmine's full URL",
        heal="config set base_url={tracker} --moved",
        everywhere="answered 404: this path does not exist on the server, so the host or path in base_url is wrong",
        told_before=True,
    ),
    Row(
        4,
        "the tracker's name is gone from the DNS",
        name_gone,
        EventState.PENDING,
        doctor="the host name redmine.example.test does not exist",
        step="correct the URL, or add the name to the DNS",
        heal=name_back,
        everywhere="the host name redmine.example.test does not exist",
        told_before=True,
    ),
    Row(
        5,
        "a proxy answers 200 with a page for signing in",
        in_front(lambda _: page(200)),
        EventState.PENDING,
        doctor="the response is a web page, such as a sign-in or maintenance page, and not JSON",
        step="let calls with an API key pass the proxy without a sign-in",
        heal=passes_on,
        everywhere="the response is a web page, such as a sign-in or maintenance page, and not JSON",
        told_before=True,
    ),
    Row(
        5,
        "a proxy answers only POST with a page for signing in",
        in_front(lambda _: page(200, method="POST")),
        EventState.PENDING,
        doctor="1 ticket is not forwarded (4711): a firewall or proxy rejects the call before it reaches Redmine",
        step="accept deskbridge's POST and PUT requests",
        heal=passes_on,
        everywhere="a firewall or proxy rejects the call before it reaches Redmine",
    ),
    Row(
        29,
        "the tracker takes four seconds for an answer",
        slow,
        EventState.PENDING,
        doctor="took 4.0 s on average",
        step="check the CPU, memory and database of the Redmine server",
        heal=quick,
        everywhere="took 4.0 s on average",
        arrives=lambda stage: stage.receive(),
        told_before=True,
    ),
]
