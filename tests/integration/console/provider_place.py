"""A console and the OpenID provider that signs people in to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import requests
from pydantic import SecretStr

from producer.admin.access.accounts import AccountStore
from producer.admin.records.rights import Right
from producer.console.app import create_console
from tests.integration.console.oidc import CLIENT_ID, CLIENT_SECRET, Provider
from tests.integration.console.pages import PASSWORD, Visitor
from tests.support.bridge import Bridge
from tests.support.serving import Served


class Place:
    """A console whose users sign in with an OpenID provider."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge
        self.provider = Provider(lambda: self._served.base_url)
        self._served = Served(self.provider.app())
        self._served.start()
        self.issuer = self._served.base_url
        self.consoles: list[Served] = []
        self.accounts = AccountStore(bridge.store)

    def console(self, **settings: Any) -> Served:
        """Start a console with these settings."""
        values = {
            "oidc_issuer": self.issuer,
            "oidc_client_id": CLIENT_ID,
            "oidc_client_secret": SecretStr(CLIENT_SECRET),
            **settings,
        }
        own = self.bridge.settings.model_copy(update=values)
        made = Served(create_console(own))
        object.__setattr__(own, "console_url", settings.get("console_url", made.base_url))
        made.start()
        self.consoles.append(made)
        return made

    def close(self) -> None:
        """Stop everything."""
        for one in (*self.consoles, self._served):
            one.stop()


@pytest.fixture
def place(bridge: Bridge) -> Iterator[Place]:
    made = Place(bridge)
    made.accounts.add("claire", PASSWORD, Right.OPERATOR)
    yield made
    made.close()


def come(visitor: Visitor, path: str = "/console/sign-in/sso") -> requests.Response:
    """Follow the link to the provider and back."""
    return visitor.http.get(visitor.base_url + path, timeout=30)


def signed_in(visitor: Visitor) -> bool:
    return any(one.name == "deskbridge_session" for one in visitor.http.cookies)


def visitor_console(place: Place) -> Served:
    """Return the console that the visitor uses."""
    return place.consoles[0]


@pytest.fixture
def visitor(place: Place) -> Visitor:
    return Visitor(place.console().base_url)
