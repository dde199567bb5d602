"""Many sign-ins at once: hashing uses bounded resources, and people who are signed in notice nothing."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import argon2
import pytest

from producer.admin.access import passwords
from producer.admin.records.rights import Right
from producer.console.pages.sign_in import TRIES_FOR_NAME, TRIES_OF_ADDRESS
from producer.http.buckets import Buckets
from tests.integration.console.conftest import ComeIn, Console
from tests.integration.console.pages import PASSWORD, Visitor
from tests.support.waiting import until

AT_ONCE = 40
IN_LINE = 8
SOON_S = 20.0
"""Shorter than a sign-in waits for its turn: a page that waited for a sign-in would take longer."""


class Hasher:
    """A hasher that blocks until it is released and counts how many calls it has at once."""

    def __init__(self) -> None:
        self.may_go_on = threading.Event()
        self.most = self.total = self._at_work = 0
        self._lock = threading.Lock()

    def hash(self, _password: str) -> str:
        """Wait until the hasher is released."""
        with self._lock:
            self.total += 1
            self._at_work += 1
            self.most = max(self.most, self._at_work)
        assert self.may_go_on.wait(100)
        with self._lock:
            self._at_work -= 1
        return ""

    def verify(self, _hashed: str, _password: str) -> bool:
        """Wait as `hash` does; the password never matches."""
        self.hash(_password)
        return False


@pytest.fixture
def visitor(come_in: ComeIn) -> Visitor:
    return come_in(Right.VIEWER)


@pytest.fixture
def hasher(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hasher]:
    made = Hasher()
    monkeypatch.setattr(argon2, "PasswordHasher", lambda: made)
    yield made
    made.may_go_on.set()


def all_at_once(console: Console, names: list[str]) -> list[Future[int]]:
    """Sign in under each name with a wrong password; return the pending statuses."""

    def sign_in(name: str) -> int:
        visitor = Visitor(console.base_url)
        status = visitor.sign_in(name, "wrong horse battery").status_code
        visitor.close()
        return status

    pool = ThreadPoolExecutor(len(names))
    asked = [pool.submit(sign_in, name) for name in names]
    pool.shutdown(wait=False)
    return asked


@pytest.mark.promise("SEC-68")
def test_forty_sign_ins_at_once_hash_two_at_a_time_and_keep_nobody_else_waiting(
    visitor: Visitor, console: Console, hasher: Hasher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passwords, "PATIENCE_S", 90.0)
    monkeypatch.setattr(console.app.state.tries, "_of_address", Buckets(1.0, 1000.0))  # as if from many
    asked = all_at_once(console, [f"somebody {number}" for number in range(AT_ONCE)])
    for _ in range(5):
        began = time.monotonic()
        assert "Audit log" in visitor.open("/console/changes")
        assert time.monotonic() - began < SOON_S
    while sum(one.done() for one in asked) < AT_ONCE - IN_LINE:
        wait([one for one in asked if not one.done()], timeout=30, return_when=FIRST_COMPLETED)
    until(lambda: hasher.total == 2)
    hasher.may_go_on.set()
    assert Counter(one.result(90) for one in asked) == {503: AT_ONCE - IN_LINE, 401: IN_LINE}
    assert (hasher.most, hasher.total) == (2, IN_LINE)


@pytest.mark.promise("SEC-61")
def test_many_wrong_passwords_at_once_are_no_more_than_one_after_another(
    console: Console, hasher: Hasher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passwords, "LINE", threading.BoundedSemaphore(AT_ONCE))
    asked = all_at_once(console, ["claire"] * AT_ONCE)
    while sum(one.done() for one in asked) < AT_ONCE - TRIES_OF_ADDRESS:
        wait([one for one in asked if not one.done()], timeout=30, return_when=FIRST_COMPLETED)
    hasher.may_go_on.set()
    found = Counter(one.result(90) for one in asked)
    assert found == {429: AT_ONCE - TRIES_OF_ADDRESS, 401: TRIES_OF_ADDRESS}


def test_a_right_password_and_a_busy_moment_count_as_no_guess(
    console: Console, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(passwords, "LINE", threading.BoundedSemaphore(1))
        assert passwords.LINE.acquire()
        for _ in range(TRIES_OF_ADDRESS + 1):
            assert visitor.sign_in("claire").status_code == 503
        visitor.open("/console/account")
        changed = {"before": PASSWORD, "password": "a new one altogether", "again": "a new one altogether"}
        for _ in range(TRIES_OF_ADDRESS + 1):
            answer = visitor.send("/console/account/password", changed)
            assert answer.status_code == 503
            assert "too many people are signing in" in answer.text
    for _ in range(TRIES_OF_ADDRESS + 1):
        assert visitor.sign_in("claire").status_code == 303


@pytest.fixture
def crowd(console: Console, monkeypatch: pytest.MonkeyPatch) -> Visitor:
    """An attacker with so many addresses that only the account name is counted."""
    monkeypatch.setattr(console.app.state.tries, "_of_address", Buckets(1.0, 10_000.0))
    return Visitor(console.base_url)


def guess(crowd: Visitor, name: str = "claire") -> None:
    """Guess until a browser that never signed in has to wait."""
    for _ in range(TRIES_FOR_NAME):
        assert crowd.sign_in(name, "wrong horse battery").status_code == 401
    assert crowd.sign_in(name, "wrong horse battery").status_code == 429


@pytest.mark.promise("SEC-71")
def test_whoever_guesses_a_name_keeps_no_browser_out_that_has_signed_in_to_it(
    visitor: Visitor, crowd: Visitor
) -> None:
    visitor.open("/console")
    visitor.do("/console/sign-out")
    guess(crowd)
    assert crowd.sign_in("claire").status_code == 429, (
        "whoever never signed in waits, the right password with them"
    )
    assert visitor.sign_in("claire").status_code == 303
    visitor.open("/console/account")
    changed = {"before": PASSWORD, "password": "a new one altogether", "again": "a new one altogether"}
    assert visitor.send("/console/account/password", changed).status_code == 303
    assert visitor.sign_in("claire", "a new one altogether").status_code == 303, (
        "it is known by the new one, too"
    )


@pytest.mark.promise("SEC-61")
def test_a_browser_that_has_signed_in_may_not_guess_either(visitor: Visitor, crowd: Visitor) -> None:
    crowd.http.cookies.update(
        {one.name: one.value or "" for one in visitor.http.cookies if "device" in one.name}
    )
    guess(crowd)
    assert crowd.sign_in("claire").status_code == 429


@pytest.mark.promise("SEC-61")
def test_a_browser_is_known_to_its_own_account_only_and_to_its_present_password(
    visitor: Visitor, crowd: Visitor, console: Console, come_in: ComeIn
) -> None:
    device = next(one for one in visitor.http.cookies if "device" in one.name)
    known = console.app.state.services.accounts.known_device
    assert known("claire", device.value)
    come_in(Right.VIEWER, "hugo")
    nonce, _, mark = (device.value or "").partition(".")
    for strange in ("", ".", "x", f".{mark}", f"{nonce}.", f"x{nonce}.{mark}", "\x00.\udcff", f"{nonce}.é"):
        assert known("claire", strange) == ""
    assert known("hugo", device.value) == known("nobody", device.value) == ""
    console.app.state.services.accounts.set_password("claire", "a new one altogether")
    assert known("claire", device.value) == ""


def test_the_cookie_of_a_browser_is_sent_to_the_sign_in_only_and_signs_nobody_in(
    visitor: Visitor, console: Console
) -> None:
    device = next(one for one in visitor.http.cookies if "device" in one.name)
    assert device.path == "/console/sign-in"
    stranger = Visitor(console.base_url)
    stranger.http.cookies.set(device.name, device.value or "", path="/console")
    assert "Sign in" in stranger.open("/console")
    stranger.close()
