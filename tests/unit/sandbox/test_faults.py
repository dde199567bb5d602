"""Each fault of the stand-in over a real socket: what the client sees, and whether the request took effect."""

from __future__ import annotations

import http.client
import json
import socket
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from deploy.sandbox.tracker.control import StandIn
from deploy.sandbox.tracker.faults import KINDS
from deploy.sandbox.tracker.seed import DEFAULT_KEY

pytestmark = pytest.mark.enable_socket
ISSUE = {"issue": {"project_id": 1, "subject": "S", "status_id": 2}}


def call(
    stand_in: StandIn,
    method: str = "POST",
    path: str = "/issues.json",
    body: object = ISSUE,
    su: str | None = None,
) -> tuple[int, bytes, http.client.HTTPMessage]:
    """Make one request on a separate connection."""
    address = urlsplit(stand_in.base_url)
    headers = {"X-Redmine-API-Key": DEFAULT_KEY, "Content-Type": "application/json"}
    if su:
        headers["X-Redmine-Switch-User"] = su
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=5)
    try:
        connection.request(method, path, json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, response.read(), response.headers
    finally:
        connection.close()


def new_issues(stand_in: StandIn) -> list[dict[str, Any]]:
    return stand_in.state()["issues"][5:]


@pytest.mark.parametrize(
    ("kind", "options", "error"),
    [
        ("timeout_before", {"seconds": 0.05}, http.client.RemoteDisconnected),
        ("timeout_after", {"seconds": 0.05}, http.client.RemoteDisconnected),
        ("reset_before", {}, ConnectionResetError),
        ("reset_after", {}, ConnectionResetError),
        ("close_before", {}, http.client.RemoteDisconnected),
        ("close_after", {}, http.client.RemoteDisconnected),
        ("truncated_after", {}, http.client.IncompleteRead),
    ],
)
def test_a_lost_answer_tells_nothing_of_the_effect(
    stand_in: StandIn, kind: str, options: dict[str, Any], error: type[Exception]
) -> None:
    stand_in.fault(kind, method="POST", path="/issues.json", count=1, **options)
    with pytest.raises(error) as raised:
        call(stand_in)
    assert type(raised.value) is error
    assert len(new_issues(stand_in)) == kind.endswith("_after")
    assert call(stand_in)[0] == 201


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("status", [500, 503, 429, 401])
def test_a_status_replaces_the_answer(stand_in: StandIn, when: str, status: int) -> None:
    stand_in.fault(f"status_{when}", status=status, retry_after=7, count=1)
    answered, _, headers = call(stand_in)
    assert (answered, headers["Retry-After"]) == (status, "7")
    assert len(new_issues(stand_in)) == (when == "after")


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_page_stands_in_the_answers_place(stand_in: StandIn, when: str) -> None:
    stand_in.fault(f"page_{when}", status=302, count=1)
    status, body, _ = call(stand_in)
    assert status == 302
    assert body.startswith(b"<!DOCTYPE html>")
    assert len(new_issues(stand_in)) == (when == "after")


@pytest.mark.parametrize("when", ["before", "after"])
def test_garbage_is_a_success_whose_body_is_no_json(stand_in: StandIn, when: str) -> None:
    stand_in.fault(f"garbage_{when}")
    status, body, _ = call(stand_in)
    assert status == 201
    with pytest.raises(ValueError, match=r"\w"):
        json.loads(body)
    assert len(new_issues(stand_in)) == (when == "after")


def test_a_delay_works_late(stand_in: StandIn) -> None:
    stand_in.fault("delay", seconds=0.1)
    begun = time.monotonic()
    assert call(stand_in)[0] == 201
    assert time.monotonic() - begun >= 0.1


def test_a_trickle_comes_byte_by_byte(stand_in: StandIn) -> None:
    stand_in.fault("trickle", seconds=0.0005)
    begun = time.monotonic()
    assert call(stand_in)[0] == 201
    assert time.monotonic() - begun > 0.3


def test_a_status_can_be_ignored_on_creation_and_on_change(stand_in: StandIn) -> None:
    stand_in.settings(new_issue_statuses=True)
    stand_in.fault("status_ignored")
    assert json.loads(call(stand_in)[1])["issue"]["status"]["id"] == 1
    assert call(stand_in, "PUT", "/issues/1.json", {"issue": {"status_id": 2}})[0] == 204
    assert stand_in.state()["issues"][0]["status_id"] == 1


def test_the_switch_can_be_ignored(stand_in: StandIn) -> None:
    stand_in.fault("switch_ignored")
    assert json.loads(call(stand_in, su="alice")[1])["issue"]["author"]["id"] == 1


def test_a_conflict_changes_nothing(stand_in: StandIn) -> None:
    stand_in.fault("conflict", method="PUT", path=r"/issues/\d+\.json", count=1)
    status, body, _ = call(stand_in, "PUT", "/issues/1.json", {"issue": {"status_id": 2}})
    assert (status, json.loads(body)) == (422, {"errors": []})
    assert stand_in.state()["issues"][0]["status_id"] == 1


def test_a_fault_hits_only_what_it_names_and_counts_its_hits(stand_in: StandIn) -> None:
    number = stand_in.fault("status_before", method="POST", path="/time_entries.json", count=1)
    assert call(stand_in)[0] == 201
    assert call(stand_in, path="/time_entries.json", body={})[0] == 500
    assert call(stand_in, path="/time_entries.json", body={})[0] == 422
    assert [(f["id"], f["hits"]) for f in stand_in.faults()] == [(number, 1)]
    stand_in.clear_faults()
    assert stand_in.faults() == []


def test_chances_repeat_with_a_seed(stand_in: StandIn) -> None:
    def outcomes() -> list[int]:
        stand_in.clear_faults()
        stand_in.fault("status_before", probability=0.5, seed=7)
        return [call(stand_in)[0] for _ in range(20)]

    first = outcomes()
    assert set(first) == {500, 201}
    assert outcomes() == first


def test_clearing_a_fault_lets_held_connections_go(stand_in: StandIn) -> None:
    address = urlsplit(stand_in.base_url)
    stand_in.fault("timeout_before", seconds=60)
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=5) as held:
        held.sendall(b"GET /projects.json HTTP/1.1\r\nHost: x\r\n\r\n")
        while not stand_in.requests():
            time.sleep(0.01)
        stand_in.clear_faults()
        assert held.recv(1) == b""


@pytest.mark.parametrize(
    "wanted", [{"kind": "earthquake"}, {"kind": "delay", "path": "("}, {"kind": "delay", "planet": "Mars"}]
)
def test_a_fault_that_makes_no_sense_is_refused(stand_in: StandIn, wanted: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        stand_in.fault(**wanted)
    assert stand_in.faults() == []


def test_every_kind_is_covered_here() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    stems = {kind.removesuffix("_before").removesuffix("_after") for kind in KINDS}
    assert [stem for stem in stems if stem not in source] == []
