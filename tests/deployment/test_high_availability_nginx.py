"""nginx, as configured by deploy/nginx, in front of two producers and two consoles."""

from __future__ import annotations

import json
import signal
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from requests.adapters import HTTPAdapter
from standardwebhooks import Webhook

from deploy.embedded.child import Child
from deploy.embedded.ports import HOST, free_port
from deploy.sandbox.tracker.control import StandIn
from producer.http.bodies import LARGEST_BODY
from tests.deployment.ha.load import Load, signed
from tests.deployment.ha.nginx import CONSOLE, Nginx
from tests.support.events import task_event
from tests.support.fleet import SECRET, Fleet
from tests.support.waiting import until
from tests.support.workload import generate

pytestmark = [pytest.mark.ha, pytest.mark.timeout(900)]

Tool = Callable[[str, str], Path]
TOKEN = "a token of the console's API"
PROBLEM = "application/problem+json"
BODY_S, ANSWER_S = 10, 35
"""The limits of deploy/nginx and docs/how-to/high-availability.md."""


class Site:
    """Two producers and two consoles behind nginx.

    Args:
        fleet: one producer, the workers, and beat.
        program: path of nginx.
    """

    def __init__(self, fleet: Fleet, program: Path) -> None:
        self.fleet = fleet
        self.ports = {name: free_port() for name in ("producer-2", "console-1", "console-2")}
        self.children = {name: self.start(name) for name in self.ports}
        consoles = [self.ports["console-1"], self.ports["console-2"]]
        self.nginx = Nginx(
            program, fleet.directory / "nginx", [fleet.port, self.ports["producer-2"]], consoles
        )
        self.nginx.start()

    def start(self, name: str) -> Child:
        """Start one of the processes, or restart it."""
        kind, port = name.partition("-")[0], self.ports[name]

        def answers() -> bool:
            return requests.get(f"http://{HOST}:{port}/healthz", timeout=1).ok

        return self.fleet.processes.start(self.fleet.child(name, kind, "--port", str(port)), answers)

    def get(self, path: str, **headers: str) -> requests.Response:
        """Request a path of the console."""
        return requests.get(
            f"{self.nginx.url}{path}",
            headers={"Host": CONSOLE, **headers},
            verify=str(self.nginx.certificate),
            timeout=10,
        )


@pytest.fixture(scope="module")
def nginx(tool: Tool) -> Path:
    """The path of nginx; skips if it is unavailable."""
    return tool("nginx", "nginx")


@pytest.fixture
def site(tmp_path: Path, postgres_url: str, redis_url: str, nginx: Path) -> Iterator[Site]:
    """The whole site, running."""
    settings: dict[str, Any] = {"TRUSTED_PROXIES": HOST, "CONSOLE_TOKENS": TOKEN}
    with StandIn() as stand_in:
        fleet = Fleet(tmp_path, postgres_url, redis_url, stand_in, **settings)
        found = None
        try:
            fleet.start(workers=1)
            found = Site(fleet, nginx)
            yield found
        finally:
            if found:
                found.nginx.child.stop()
            fleet.stop()


def test_with_a_producer_and_a_console_killed_under_load_no_sender_and_no_reader_notices(
    site: Site, report: list[str]
) -> None:
    certificate = str(site.nginx.certificate)
    load = Load(
        site.fleet, generate(6, tickets=200, events=1200, copies=1), url=site.nginx.url, verify=certificate
    )
    with load:
        for name in ("producer-2", "console-1"):
            load.wait_for(150)
            site.children[name].kill()
            answer = site.get("/api/events", authorization=f"Bearer {TOKEN}")
            assert answer.status_code == 200, answer.text
            load.wait_for(150)
            site.start(name)
    assert load.refused == []
    synced = load.check()
    report.append(
        f"nginx: a producer killed under load: 0 of {len(load.accepted)} deliveries had to be sent again, "
        f"longest time without a 202 {load.interruption():.1f} s; all done {synced:.1f} s after the last"
    )


def test_a_body_over_the_limit_is_refused_as_the_producer_does_it(site: Site) -> None:
    body = " " * (LARGEST_BODY + 1)
    answers = [
        requests.post(
            f"{url}/events",
            data=body,
            headers=signed(Webhook(SECRET), "large", body),
            verify=str(site.nginx.certificate),
            timeout=10,
        )
        for url in (site.nginx.url, f"http://{HOST}:{site.fleet.port}")
    ]
    for answer in answers:
        assert answer.status_code == 413
        assert answer.headers["content-type"] == PROBLEM
    assert answers[0].json() == answers[1].json()
    assert not site.fleet.states(), "nothing was kept"


def test_the_client_s_own_address_is_known_and_not_what_the_client_says_of_itself(site: Site) -> None:
    own, said = "127.0.0.7", "203.0.113.9"
    body = json.dumps(task_event())
    wrong = {**signed(Webhook(SECRET), "one", body), "webhook-signature": "v1,AAAA", "X-Forwarded-For": said}
    with requests.Session() as http:
        http.mount("https://", _From(own))
        verify = str(site.nginx.certificate)
        event = http.post(f"{site.nginx.url}/events", data=body, headers=wrong, verify=verify, timeout=10)
        assert event.status_code == 401
        asked = {"Host": CONSOLE, "X-Forwarded-For": said}
        page = http.get(f"{site.nginx.url}/api/events", headers=asked, verify=verify, timeout=10)
        assert page.status_code == 401

    def told() -> str:
        return site.fleet.run("doctor", "--json").stdout

    until(lambda: own in told(), told, 40)
    assert said not in told()
    logs = "".join(one.read_text() for one in site.fleet.directory.glob("console-*.log"))
    assert own in logs
    assert said not in logs


def test_what_is_for_monitors_and_what_is_not_encrypted_is_not_handed_on(site: Site) -> None:
    for path in ("/metrics", "/readyz", "/livez"):
        assert site.get(path).status_code == 404
        hooks = requests.get(f"{site.nginx.url}{path}", verify=str(site.nginx.certificate), timeout=10)
        assert hooks.status_code == 404
    plain = requests.post(f"http://{HOST}:{site.nginx.plain_port}/events", allow_redirects=False, timeout=10)
    assert (plain.status_code, plain.headers["location"]) == (308, f"https://{HOST}/events")
    assert "max-age" in site.get("/ui/sign-in").headers["strict-transport-security"]


def test_an_event_is_sent_to_another_producer_and_a_form_to_no_other_console(
    nginx: Path, tmp_path: Path
) -> None:
    with hanging_up() as one, hanging_up() as two:
        proxy = Nginx(nginx, tmp_path / "nginx", [one.port, two.port], [one.port, two.port])
        proxy.start()
        try:
            verify = str(proxy.certificate)
            event = requests.post(f"{proxy.url}/events", data="{}", verify=verify, timeout=10)
            assert sorted((one.requests, two.requests)) == [1, 1]
            assert (event.status_code, event.headers["retry-after"]) == (503, "5")
            assert event.headers["content-type"] == PROBLEM
            time.sleep(5.5)  # fail_timeout: nginx uses both again
            form = requests.post(
                f"{proxy.url}/ui/x", data="a=b", headers={"Host": CONSOLE}, verify=verify, timeout=10
            )
            assert form.status_code == 502
            assert one.requests + two.requests == 3
        finally:
            proxy.child.send_signal(signal.SIGTERM)
            proxy.child.stop()


def test_a_body_that_stops_coming_reaches_nobody_and_a_producer_that_never_answers_is_given_up(
    nginx: Path, tmp_path: Path
) -> None:
    with hanging_up(at_once=False) as one, hanging_up(at_once=False) as two:
        proxy = Nginx(nginx, tmp_path / "nginx", [one.port, two.port], [one.port, two.port])
        proxy.start()
        try:
            with ThreadPoolExecutor(1) as threads:
                began = time.monotonic()
                event = threads.submit(
                    requests.post, f"{proxy.url}/events", data="{}", verify=str(proxy.certificate), timeout=60
                )
                assert BODY_S - 1 < seconds_until_cut(proxy) < BODY_S + 2
                answer = event.result()
                assert ANSWER_S - 1 < time.monotonic() - began < ANSWER_S + 3
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
            assert answer.headers["content-type"] == PROBLEM
            assert one.requests + two.requests == 1, "after so long its sender is who sends it again"
        finally:
            proxy.child.stop()


def seconds_until_cut(proxy: Nginx) -> float:
    """Send the start of an event; return the seconds until the connection is closed without an answer."""
    trusted = ssl.create_default_context(cafile=proxy.certificate)
    with (
        socket.create_connection((HOST, proxy.port), timeout=60) as plain,
        trusted.wrap_socket(plain, server_hostname=HOST) as connection,
    ):
        began = time.monotonic()
        connection.sendall(b"POST /events HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        assert connection.recv(100) == b""
        return time.monotonic() - began


class HangingUp:
    """A server that reads a request and closes the connection.

    Args:
        at_once: whether it closes at once, and not only when it is stopped.

    Attributes:
        requests: number of requests that it has read.
    """

    def __init__(self, *, at_once: bool) -> None:
        outer = self
        self.requests = 0
        self._hangs_up = threading.Event()
        if at_once:
            self._hangs_up.set()

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                while self.rfile.readline().strip():
                    pass
                outer.requests += 1
                outer._hangs_up.wait()

        self._server = socketserver.ThreadingTCPServer((HOST, 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Stop the server."""
        self._hangs_up.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def hanging_up(*, at_once: bool = True) -> Iterator[HangingUp]:
    """Run a server that closes connections."""
    server = HangingUp(at_once=at_once)
    try:
        yield server
    finally:
        server.stop()


class _From(HTTPAdapter):
    """Connects from a given source address."""

    def __init__(self, address: str) -> None:
        self._address = address
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, source_address=(self._address, 0), **kwargs)
