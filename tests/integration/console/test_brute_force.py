"""Many sign-ins at once: what hashing takes is bounded, and whoever is signed in does not notice."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import argon2
import pytest

from producer.admin.access import accounts
from producer.admin.records.rights import Right
from producer.console.pages.sign_in import TRIES_OF_ADDRESS
from producer.web.buckets import Buckets
from tests.integration.console.conftest import ComeIn, Console
from tests.integration.console.pages import PASSWORD, Visitor
from tests.support.waiting import until

AT_ONCE = 40
IN_LINE = 8
SOON_S = 20.0
"""Below the time for which a sign-in waits for its turn: a page that waited for one would take longer."""


class Hasher:
    """Hashes nothing until it may, and notes how many do so at once."""

    def __init__(self) -> None:
        self.may_go_on = threading.Event()
        self.most = self.total = self._at_work = 0
        self._lock = threading.Lock()

    def hash(self, _password: str) -> str:
        """Wait."""
        with self._lock:
            self.total += 1
            self._at_work += 1
            self.most = max(self.most, self._at_work)
        assert self.may_go_on.wait(100)
        with self._lock:
            self._at_work -= 1
        return ""

    def verify(self, _hashed: str, _password: str) -> bool:
        """Wait; it never matches."""
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
    """Sign in under each name with a wrong password; return what will be answered."""

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
    monkeypatch.setattr(accounts, "PATIENCE_S", 90.0)
    monkeypatch.setattr(console.app.state.tries, "_of_address", Buckets(1.0, 1000.0))  # as from many of them
    asked = all_at_once(console, [f"somebody {number}" for number in range(AT_ONCE)])
    for _ in range(5):
        began = time.monotonic()
        assert "Changes" in visitor.open("/console/changes")
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
    monkeypatch.setattr(accounts, "LINE", threading.BoundedSemaphore(AT_ONCE))
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
        patched.setattr(accounts, "LINE", threading.BoundedSemaphore(1))
        assert accounts.LINE.acquire()
        for _ in range(TRIES_OF_ADDRESS + 1):
            assert visitor.sign_in("claire").status_code == 503
        visitor.open("/console/account")
        changed = {"before": PASSWORD, "password": "a new one altogether", "again": "a new one altogether"}
        for _ in range(TRIES_OF_ADDRESS + 1):
            answer = visitor.send("/console/account/password", changed)
            assert answer.status_code == 503
            assert "too many sign in at this moment" in answer.text
    for _ in range(TRIES_OF_ADDRESS + 1):
        assert visitor.sign_in("claire").status_code == 303
