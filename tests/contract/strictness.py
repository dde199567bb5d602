"""Makes a tracker stricter during one test, as its administrator would in the browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import requests

from tests.contract.support import Tracker

TOKEN = re.compile(r'name="authenticity_token" value="([^"]+)"')


@contextmanager
def required(tracker: Tracker, custom_field: int) -> Iterator[None]:
    """Make a custom field required inside the block."""
    _require(tracker, custom_field, True)
    try:
        yield
    finally:
        _require(tracker, custom_field, False)


def _require(tracker: Tracker, custom_field: int, value: bool) -> None:
    switch = f"{tracker.base_url}/_control/settings"
    answer = requests.post(switch, json={"required_custom_fields": [custom_field] * value}, timeout=30)
    if answer.status_code != 404:
        answer.raise_for_status()
        return
    with requests.Session() as browser:
        signed_in = _submit(
            browser, f"{tracker.base_url}/login", "/login", username="admin", password="admin"
        )
        assert "/logout" in signed_in, "the administrator of the test Redmine could not sign in"
        path = f"/custom_fields/{custom_field}"
        flag = {"custom_field[is_required]": str(int(value)), "_method": "patch"}
        _submit(browser, f"{tracker.base_url}{path}/edit", path, **flag)
    found = next(
        one for one in tracker.read("/custom_fields.json")["custom_fields"] if one["id"] == custom_field
    )
    assert found["is_required"] is value


def _submit(browser: requests.Session, form: str, action: str, **fields: str) -> str:
    """Submit a form of the tracker's web pages; return the resulting page."""
    token = TOKEN.search(browser.get(form, timeout=30).text)
    assert token is not None, f"{form} is no form"
    base = form[: form.index("/", len("http://"))]
    answer = browser.post(base + action, data={"authenticity_token": token[1], **fields}, timeout=30)
    answer.raise_for_status()
    return answer.text
