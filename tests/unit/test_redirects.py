"""A redirect's address is offered as the new base URL only if it can be the same tracker's and is safe to type."""

from __future__ import annotations

import pytest

from shared.notices.faults import Detail
from shared.notices.render import because, sentence
from shared.tracker.answers import redirected

HERE = "http://old.example/redmine"


@pytest.mark.parametrize(
    ("location", "moved"),
    [
        ("https://old.example/redmine/users.json", "https://old.example/redmine"),
        ("https://old.example/redmine/users.json?limit=100&offset=0", "https://old.example/redmine"),
        ("https://new.example/users.json", "https://new.example"),
        ("/tracker/users.json", "http://old.example/tracker"),
        ("https://[::1]:8443/users.json", "https://[::1]:8443"),
    ],
)
def test_the_same_call_at_another_address_is_offered_as_base_url(location: str, moved: str) -> None:
    found = redirected(HERE, "/users.json", location)
    assert found == Detail.ADDRESS_MOVED(base_url=moved)
    assert f"`deskbridge config set base_url={moved} --moved`" in because(found)
    assert moved in sentence(found)


@pytest.mark.parametrize(
    "location",
    [
        "https://login.example/?back=users.json",
        "http://old.example/redmine/users.json",
        "https://old.example/redmine/users.json/",
        "https://me:secret@new.example/users.json",
        "https://new.example/$(reboot)/users.json",
        "https://new.example/`reboot`/users.json",
        "https://new.example/a b/users.json",
        "https://new.example;reboot/users.json",
        "https://new.example/\x1b[2J/users.json",
        "javascript://new.example/users.json",
        "https://[new.example/users.json",
        "",
        None,
    ],
)
def test_anything_else_is_no_address_of_the_tracker(location: str | None) -> None:
    found = redirected(HERE, "/users.json", location)
    assert found.code == Detail.REDIRECT_NOT_FOLLOWED
    assert "config set" not in because(found)
    assert not any(one in sentence(found) for one in ("secret", "$", "`", ";", "\x1b", "back="))


def test_a_key_is_not_led_away_from_https() -> None:
    found = redirected("https://old.example", "/users.json", "http://new.example/users.json")
    assert found == Detail.REDIRECT_NOT_FOLLOWED(location="http://new.example/users.json")
