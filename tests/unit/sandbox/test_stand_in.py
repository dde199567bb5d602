"""The stand-in as a program: HTTP, request log, switches, and state that survives restarts."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from deploy.sandbox.tracker import controlplane
from deploy.sandbox.tracker.access import Request
from deploy.sandbox.tracker.control import StandIn
from deploy.sandbox.tracker.sandbox import Sandbox
from deploy.sandbox.tracker.seed import DEFAULT_KEY, seeded, user_key

pytestmark = pytest.mark.enable_socket
BODY = json.dumps({"issue": {"project_id": 1, "subject": "S"}})
HEADERS = {"X-Redmine-API-Key": DEFAULT_KEY, "Content-Type": "application/json"}


def connected(stand_in: StandIn) -> http.client.HTTPConnection:
    address = urlsplit(stand_in.base_url)
    return http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)


def test_a_connection_serves_many_requests(stand_in: StandIn) -> None:
    connection = connected(stand_in)
    ports = set()
    for number in (6, 7, 8):
        connection.request("POST", "/issues.json", BODY, HEADERS)
        response = connection.getresponse()
        assert (response.status, json.loads(response.read())["issue"]["id"]) == (201, number)
        assert response.headers["Location"] == f"{stand_in.base_url}/issues/{number}"
        assert response.headers["Date"].endswith("GMT")
        ports.add(connection.sock.getsockname())
    connection.close()
    assert len(ports) == 1


def test_a_change_has_no_body_and_no_content_type(stand_in: StandIn) -> None:
    connection = connected(stand_in)
    connection.request("PUT", "/issues/1.json", '{"issue": {"status_id": 2}}', HEADERS)
    response = connection.getresponse()
    assert (response.status, response.read(), response.headers["Content-Type"]) == (204, b"", None)
    connection.close()


def test_a_body_in_chunks_is_read(stand_in: StandIn) -> None:
    connection = connected(stand_in)
    connection.request(
        "POST", "/issues.json", iter([BODY[:10].encode(), BODY[10:].encode()]), HEADERS, encode_chunked=True
    )
    assert connection.getresponse().status == 201
    connection.close()


@pytest.mark.parametrize("sent", [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"])
def test_what_is_no_http_gets_400_and_a_closed_connection(stand_in: StandIn, sent: bytes) -> None:
    address = urlsplit(stand_in.base_url)
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=5) as client:
        client.sendall(sent)
        with client.makefile("rb") as stream:
            assert stream.read().startswith(b"HTTP/1.1 400 ")


def test_the_log_holds_requests_in_order_and_no_key(stand_in: StandIn) -> None:
    connection = connected(stand_in)
    for path in (f"/projects.json?key={DEFAULT_KEY}&limit=1", "/issues.json"):
        connection.request("POST", path, BODY, HEADERS | {"X-Redmine-Switch-User": "alice"})
        connection.getresponse().read()
    leak = json.dumps({"issue": {"project_id": 1, "subject": user_key("bob")}})
    connection.request("POST", "/issues.json", leak, HEADERS)
    connection.getresponse().read()
    connection.close()
    first, second, third = stand_in.requests()
    assert (first["query"], first["as"], first["key_ok"]) == ("key=***&limit=1", "alice", True)
    assert first["at"] <= second["at"] <= third["at"] <= time.monotonic()
    assert second == {
        "n": 2,
        "at": second["at"],
        "method": "POST",
        "path": "/issues.json",
        "query": "",
        "as": "alice",
        "key_ok": True,
        "body": json.loads(BODY),
        "status": 201,
        "fault": None,
    }
    assert stand_in.requests(since=2) == [third]
    shown = json.dumps([first, second, third, stand_in.state()])
    assert DEFAULT_KEY not in shown
    assert user_key("bob") not in json.dumps(third)


def test_settings_rows_and_reset(stand_in: StandIn) -> None:
    stand_in.settings(rest_enabled=False, clock_offset=3600)
    stand_in.patch("users", 6, language="de")
    assert stand_in.settings()["rest_enabled"] is False
    with pytest.raises(ValueError, match="unknown setting"):
        stand_in.settings(gravity=1)
    with pytest.raises(ValueError, match="must be of type bool"):
        stand_in.settings(rest_enabled="no")
    with pytest.raises(ValueError, match="users have only"):
        stand_in.patch("users", 6, wings=2)
    stand_in.reset()
    assert stand_in.settings()["rest_enabled"] is True
    assert [user["language"] for user in stand_in.state()["users"] if user["id"] == 6] == ["en"]


def test_it_forgets_the_work_and_keeps_the_people(stand_in: StandIn) -> None:
    connection = connected(stand_in)
    ids = []
    for _ in range(2):
        connection.request("POST", "/issues.json", BODY, HEADERS)
        ids.append(json.loads(connection.getresponse().read())["issue"]["id"])
        people = stand_in.state()["users"]
        stand_in.forget()
        left = stand_in.state()
        assert (left["issues"], left["time_entries"], stand_in.requests()) == ([], [], [])
        assert left["users"] == people
    connection.close()
    assert ids[1] > ids[0]


@pytest.mark.parametrize(("client", "expected"), [("127.0.0.1", 200), ("::1", 200), ("192.0.2.7", 403)])
def test_the_control_plane_answers_this_machine_only(client: str, expected: int) -> None:
    request = Request("GET", "/_control/state", "", {})
    assert controlplane.answer(Sandbox(seeded), request, client=client).status == expected


def test_a_process_of_its_own_keeps_its_data_over_a_restart(tmp_path: Path) -> None:
    state = tmp_path / "deep" / "state.json"
    arguments = ["--state", str(state), "--extra-users", "2", "--extra-projects", "3"]
    with StandIn(arguments=arguments, key="k" * 40) as first:
        assert first.pid is not None
        connection = connected(first)
        connection.request("POST", "/issues.json", BODY, HEADERS | {"X-Redmine-API-Key": "k" * 40})
        assert connection.getresponse().status == 201
        connection.close()
        before = first.state()
    assert state.stat().st_mode & 0o777 == 0o600
    with StandIn(arguments=arguments, key="k" * 40) as second:
        assert second.state() == before
    assert [user["login"] for user in before["users"]][-2:] == ["tech0000", "tech0001"]
    assert len(before["projects"]) == 10


@pytest.mark.promise("SEC-85")
def test_with_a_key_file_only_its_key_is_served_also_to_controls(tmp_path: Path) -> None:
    state, file = tmp_path / "state.json", tmp_path / "key"
    with StandIn(arguments=["--state", str(state)]) as before:
        assert asked(before, "/_control/state", None) == 200
        assert asked(before, "/users/current.json", user_key("bob")) == 200
    file.write_text("k" * 40 + "\n")
    with StandIn(arguments=["--state", str(state), "--key-file", str(file)]) as closed:
        for path in ("/users/current.json", "/_control/state", "/_control/requests"):
            assert asked(closed, path, "k" * 40) == 200
            for key in (None, DEFAULT_KEY, user_key("bob")):
                assert asked(closed, path, key) == 401, (path, key)


def asked(stand_in: StandIn, path: str, key: str | None) -> int:
    """Return the status of the answer to a GET."""
    connection = connected(stand_in)
    connection.request("GET", path, headers={"X-Redmine-API-Key": key} if key else {})
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_state_file_that_it_cannot_read_is_an_error_of_one_line(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    state.write_text("{}")
    command = [sys.executable, "-m", "deploy.sandbox.tracker", "--state", str(state)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "can't read the state file" in ended.stderr
    assert ended.stderr.count("\n") == 1
