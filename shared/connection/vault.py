"""Encrypts the tracker's API key at rest (SPEC 2.1, 5.1) with Fernet; several keys allow rotation."""

from __future__ import annotations

from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from pydantic import SecretStr

from shared.errors import SettingsError
from shared.notices.refusals import Refusal
from shared.notices.system_refusals import SystemRefusal


class Vault:
    """Encrypts with the first of the keys, decrypts with any of them.

    Args:
        keys: Fernet keys (`DESKBRIDGE_SECRET_KEYS`), newest first.
    """

    def __init__(self, keys: Sequence[SecretStr]) -> None:
        self._fernets = [Fernet(key.get_secret_value()) for key in keys]
        self._fernet = MultiFernet(self._fernets) if keys else None

    def encrypt(self, secret: SecretStr) -> str:
        """Return the secret as a token that only this installation's keys can decrypt.

        Raises:
            SettingsError: if there is no key.
        """
        return self._keys().encrypt(secret.get_secret_value().encode()).decode()

    def decrypt(self, token: str, within_s: int | None = None) -> SecretStr:
        """Decrypt a token of `encrypt` with any of the keys.

        Args:
            token: the token.
            within_s: greatest age in seconds; None: any age.

        Raises:
            SettingsError: if there is no key, none of them fits, or the token is too old.
        """
        try:
            return SecretStr(self._keys().decrypt(token.encode(), within_s).decode())
        except InvalidToken:
            raise SettingsError(Refusal.API_KEY_NOT_OPENED()) from None

    def rotate(self, token: str) -> str:
        """Return the same secret encrypted with the first key.

        Raises:
            SettingsError: if there is no key, or none of them fits.
        """
        return self.encrypt(self.decrypt(token))

    def is_current(self, token: str) -> bool:
        """Return whether a token was made with the first key, the one that `rotate` encrypts with."""
        try:
            self._keys()
            self._fernets[0].decrypt(token.encode())
        except InvalidToken:
            return False
        return True

    def _keys(self) -> MultiFernet:
        if self._fernet is None:
            raise SettingsError(SystemRefusal.SECRET_KEYS_NOT_SET())
        return self._fernet
