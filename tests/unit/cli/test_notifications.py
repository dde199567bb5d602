"""The commands of `notification` read addresses from standard input and never print them."""

from __future__ import annotations

import shlex
from collections.abc import Callable

import pytest
from cryptography.fernet import Fernet

from tests.support.documents import documented
from tests.support.receiver import Receiver
from tests.unit.cli.conftest import Shell


@pytest.fixture
def key(environment: Callable[..., None]) -> str:
    """The key that encrypts the addresses."""
    made = Fernet.generate_key().decode()
    environment(SECRET_KEYS=made)
    return made


@pytest.mark.usefixtures("key")
def test_what_the_how_to_types_stores_addresses_and_tries_them(shell: Shell, receiver: Receiver) -> None:
    for line in documented("how-to/notifications.md#set-it-up").splitlines():
        command, _, file = line.partition(" < ")
        output = shell.do(*shlex.split(command)[1:], stdin=f"{receiver.url}\n" if file else None)
        assert receiver.SECRET not in output
    assert len(receiver.taken) == 1
    assert shell.ask("notification", "show")["services"] == ["json"]
    assert "json://…" in shell.do("notification", "show")


@pytest.mark.usefixtures("key")
def test_a_test_that_is_not_taken_exits_with_1_and_says_why(shell: Shell, receiver: Receiver) -> None:
    shell.do("notification", "set", stdin=receiver.url)
    receiver.status = 404
    result = shell.type("notification", "test")
    assert result.exit_code == 1
    assert "JSON answered 404" in result.stdout
    assert "JSON answered 404" in shell.do("notification", "show")


@pytest.mark.usefixtures("key")
def test_removed_addresses_are_gone(shell: Shell, receiver: Receiver) -> None:
    shell.do("notification", "set", stdin=receiver.url)
    assert "no one is notified" in shell.do("notification", "remove")
    assert "no one is notified" in shell.do("notification", "show")
    assert "no address" in shell.fail("notification", "test")


@pytest.mark.usefixtures("key")
def test_a_wrong_address_is_refused_by_its_line_and_not_repeated(shell: Shell) -> None:
    complaint = shell.fail("notification", "set", stdin="json://127.0.0.1/\nnonsense-s3cret\n")
    assert "line 2" in complaint
    assert "s3cret" not in complaint


def test_rotate_keys_encrypts_the_addresses_too(
    shell: Shell, environment: Callable[..., None], key: str, receiver: Receiver
) -> None:
    shell.do("notification", "set", stdin=receiver.url)
    new = Fernet.generate_key().decode()
    environment(SECRET_KEYS=f"{new},{key}")
    shell.do("config", "rotate-keys")
    environment(SECRET_KEYS=new)
    shell.do("notification", "test")
    assert len(receiver.taken) == 1
