"""One request of a client, from its arrival to the last byte of the response, faults included."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
import traceback

from deploy.sandbox.tracker import access, answers
from deploy.sandbox.tracker.access import Request
from deploy.sandbox.tracker.answers import Answer
from deploy.sandbox.tracker.faults import Fault
from deploy.sandbox.tracker.requestlog import Entry
from deploy.sandbox.tracker.sandbox import Sandbox
from deploy.sandbox.tracker.wire import Channel, rendered

GARBAGE = b'{"issue":{"id":\xff<html><body>upstream is restarting'
_CHANGED_IN_REQUEST = {"status_ignored", "switch_ignored"}


def respond(sandbox: Sandbox, request: Request, channel: Channel) -> None:
    """Process a request and respond, or fail as the active faults demand."""
    tracker = sandbox.tracker
    entry = sandbox.log.add(request, key_ok=access.key_owner(tracker, request) is not None)
    fault = sandbox.faults.strike(request.method, request.path, request.body)
    if tracker.settings.latency_ms:
        time.sleep(tracker.settings.latency_ms / 1000)
    if fault is None:
        _send(sandbox, channel, entry, _decide(sandbox, request))
        return
    entry.fault = fault.kind
    if fault.kind == "delay":
        fault.hold()
    if fault.kind in _CHANGED_IN_REQUEST:
        request = _changed(request, fault)
    has_effect = fault.kind != "conflict" and not fault.kind.endswith("_before")
    decided = _decide(sandbox, request) if has_effect else answers.invalid([])
    _deliver(sandbox, channel, entry, fault, decided)


def _decide(sandbox: Sandbox, request: Request) -> Answer:
    try:
        return access.answer(sandbox.tracker, request)
    except Exception:
        print(f"stand-in failed on {request.method} {request.path}", file=sys.stderr)
        traceback.print_exc()
        return answers.broken()


def _deliver(sandbox: Sandbox, channel: Channel, entry: Entry, fault: Fault, decided: Answer) -> None:
    effect = fault.kind.removesuffix("_before").removesuffix("_after")
    if effect == "timeout":
        fault.hold()
        channel.keep = False
    elif effect == "reset":
        channel.reset()
    elif effect == "close":
        channel.keep = False
    elif effect == "status":
        _send(sandbox, channel, entry, _replacement(fault))
    elif effect == "page":
        _send(sandbox, channel, entry, answers.page(fault.status, "Down for maintenance"))
    elif effect == "garbage":
        status = 200 if entry.method == "GET" else 201
        _send(sandbox, channel, entry, Answer(status, GARBAGE))
    elif effect == "truncated":
        channel.keep = False
        data = _bytes(sandbox, channel, entry, decided)
        channel.send(data[: len(data) - max(1, len(decided.body) // 2)])
    elif effect == "trickle":
        for byte in _bytes(sandbox, channel, entry, decided):
            channel.send(bytes([byte]))
            fault.hold()
    else:
        _send(sandbox, channel, entry, decided)


def _bytes(sandbox: Sandbox, channel: Channel, entry: Entry, answer: Answer) -> bytes:
    entry.status = answer.status
    tracker = sandbox.tracker
    now = tracker.now() if tracker.settings.date_header else None
    return rendered(answer, keep=channel.keep, now=now)


def _send(sandbox: Sandbox, channel: Channel, entry: Entry, answer: Answer) -> None:
    channel.send(_bytes(sandbox, channel, entry, answer))


def _replacement(fault: Fault) -> Answer:
    """Return the response of a proxy or of a refusing tracker, with the fault's status."""
    answer = answers.empty(fault.status)
    if fault.status >= 500 or fault.status == 429:
        answer = answers.page(fault.status, f"Error {fault.status}")
    if fault.retry_after is not None:
        answer.headers["Retry-After"] = str(fault.retry_after)
    return answer


def _changed(request: Request, fault: Fault) -> Request:
    """Return the request without the part that the fault drops: status_id or impersonation header."""
    if fault.kind == "switch_ignored":
        kept = {name: text for name, text in request.headers.items() if name not in access.SWITCH_HEADERS}
        return dataclasses.replace(request, headers=kept)
    try:
        document = json.loads(request.body)
        document["issue"].pop("status_id", None)
    except (ValueError, KeyError, TypeError, AttributeError):
        return request
    return dataclasses.replace(request, body=answers.encode(document))
