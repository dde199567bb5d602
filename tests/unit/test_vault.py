"""The tracker's API key is encrypted at rest, and its keys can be rotated (SPEC section 5, rule 1)."""

from __future__ import annotations

import pytest
from cryptography.fernet import Fernet
from pydantic import SecretStr

from shared.connection.vault import Vault
from shared.errors import SettingsError
from shared.notices.refusals import Refusal
from shared.notices.system_refusals import SystemRefusal
from tests.support.refusals import says

OLD, NEW = (SecretStr(Fernet.generate_key().decode()) for _ in range(2))
SECRET = SecretStr("the-api-key-ü")


def test_what_was_encrypted_can_be_opened_again() -> None:
    token = Vault([OLD]).encrypt(SECRET)
    assert "the-api-key" not in token
    assert Vault([OLD]).decrypt(token) == SECRET


def test_equal_secrets_have_unequal_tokens() -> None:
    assert Vault([OLD]).encrypt(SECRET) != Vault([OLD]).encrypt(SECRET)


def test_an_old_key_still_opens_and_the_new_one_encrypts() -> None:
    token = Vault([OLD]).encrypt(SECRET)
    both = Vault([NEW, OLD])
    assert both.decrypt(token) == SECRET
    assert Vault([NEW]).decrypt(both.encrypt(SECRET)) == SECRET


@pytest.mark.promise("SEC-37")
def test_after_a_rotation_the_old_key_may_go() -> None:
    token = Vault([NEW, OLD]).rotate(Vault([OLD]).encrypt(SECRET))
    assert Vault([NEW]).decrypt(token) == SECRET
    with pytest.raises(SettingsError):
        Vault([OLD]).decrypt(token)


@pytest.mark.parametrize("token", ["", "nonsense", "gAAAAA", "ü", "\x00"])
def test_a_token_that_cannot_be_opened_says_what_to_do(token: str) -> None:
    with pytest.raises(SettingsError, check=says(Refusal.API_KEY_NOT_OPENED)):
        Vault([OLD]).decrypt(token)


def test_the_error_shows_neither_key_nor_token() -> None:
    token = Vault([OLD]).encrypt(SECRET)
    with pytest.raises(SettingsError) as failure:
        Vault([NEW]).decrypt(token)
    shown = f"{failure.value!r}"
    assert token not in shown
    assert NEW.get_secret_value() not in shown


def test_without_a_key_nothing_is_encrypted_or_opened() -> None:
    empty = Vault([])
    with pytest.raises(SettingsError, check=says(SystemRefusal.SECRET_KEYS_NOT_SET)):
        empty.encrypt(SECRET)
    with pytest.raises(SettingsError, check=says(SystemRefusal.SECRET_KEYS_NOT_SET)):
        empty.decrypt(Vault([OLD]).encrypt(SECRET))


def test_a_vault_does_not_show_its_keys() -> None:
    assert OLD.get_secret_value() not in f"{Vault([OLD])!r}{vars(Vault([OLD]))}"
