"""Pages, script and style are compressed for clients that support it."""

from __future__ import annotations

import re

import pytest

from producer.admin.records.rights import Right
from tests.integration.console.conftest import ComeIn
from tests.integration.console.pages import Visitor


@pytest.fixture
def visitor(come_in: ComeIn) -> Visitor:
    return come_in(Right.VIEWER)


def test_what_is_large_is_compressed_and_a_page_that_is_as_it_was_is_not_sent_again(visitor: Visitor) -> None:
    visitor.open("/console/events")
    (style,) = re.findall(r'rel="stylesheet" href="([^"]+)"', visitor.page)
    for path in ("/console/events", style):
        packed = visitor.http.get(visitor.base_url + path, timeout=10)
        plain = visitor.http.get(visitor.base_url + path, headers={"Accept-Encoding": "identity"}, timeout=10)
        assert packed.headers["Content-Encoding"] == "gzip"
        assert "Accept-Encoding" in packed.headers["Vary"]
        assert "Content-Encoding" not in plain.headers
        assert int(packed.headers["Content-Length"]) * 2 < int(plain.headers["Content-Length"])
    again = {
        "If-None-Match": visitor.http.get(f"{visitor.base_url}/console/held", timeout=10).headers["ETag"]
    }
    assert visitor.http.get(f"{visitor.base_url}/console/held", headers=again, timeout=10).status_code == 304
