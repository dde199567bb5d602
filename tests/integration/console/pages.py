"""A browser without a screen: it signs in, reads pages and sends forms as a browser does."""

from __future__ import annotations

import html
import re
from typing import Any

import requests

PASSWORD = "correct horse battery staple"
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


class Visitor:
    """A person who uses the console's pages.

    Args:
        base_url: the console's address.
    """

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self.http = requests.Session()
        self.http.trust_env = False
        self.page = ""

    def sign_in(self, name: str, password: str = PASSWORD) -> requests.Response:
        """Sign in."""
        return self.send("/console/sign-in", {"name": name, "password": password})

    def open(self, path: str, status: int = 200, **headers: str) -> str:
        """Read a page; return its visible text."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self.http.get(self.base_url + path, timeout=90, headers={**SAME_ORIGIN, **named})
        assert answer.status_code == status, (answer.status_code, answer.text[-2000:])
        self.page = answer.text
        return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", answer.text.split("<main")[-1])))

    @property
    def form_token(self) -> str:
        """The form token of the page that was read last."""
        found = re.search(r'name="form_token" value="(\w+)"', self.page)
        return found[1] if found else ""

    def send(
        self, path: str, fields: Any = (), *, headers: dict[str, str] | None = None, follow: bool = False
    ) -> requests.Response:
        """Send a form as the page that was read last would send it."""
        data = [("form_token", self.form_token), *(fields.items() if isinstance(fields, dict) else fields)]
        return self.http.post(
            self.base_url + path,
            data=data,
            headers=SAME_ORIGIN if headers is None else headers,
            allow_redirects=follow,
            timeout=90,
        )

    def do(self, path: str, fields: Any = ()) -> str:
        """Send a form that is accepted; return where it redirects to."""
        answer = self.send(path, fields)
        assert answer.status_code == 303, (answer.status_code, answer.text[-2000:])
        return answer.headers["Location"]

    def close(self) -> None:
        """Close the session."""
        self.http.close()
