"""Verifies who sends events: Standard Webhooks signatures, with several secrets at once for rotation."""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from pydantic import SecretStr
from standardwebhooks.webhooks import EmptyWebhookSecretError, Webhook

from shared.errors import BadSignature, SettingsError
from shared.notices.deliveries import Undelivered
from shared.notices.system_refusals import SystemRefusal
from shared.values.validation import is_in_milliseconds

PREFIX = "whsec_"
SHORTEST = 16
"""Minimum bytes of a secret. Standard Webhooks requires 24 to 64; one shorter than this could be guessed."""

HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature")
PLUGIN = "deskbridge-glpi/"
"""Start of the User-Agent of GLPI's plugin."""
TOLERANCE_S = 300
SETTING = "DESKBRIDGE_WEBHOOK_SECRETS"
LONGEST_STAMP = 19
SIGNATURE = 44
"""Length of 32 bytes in base64."""


class Verifier:
    """Verifies requests against any of the secrets.

    Args:
        secrets: signing secrets, `whsec_<base64>`.

    Raises:
        SettingsError: if a secret does not have that form, or is too short.
    """

    def __init__(self, secrets: Sequence[SecretStr]) -> None:
        self._webhooks = [_webhook(secret.get_secret_value()) for secret in secrets]

    def check_headers(self, headers: Mapping[str, str]) -> None:
        """Check what can be checked before a body is read, so that no body is read in vain.

        Raises:
            BadSignature: if a header is missing, the time-stamp is too old or new, or no signature has version 1.
        """
        if missing := [name for name in HEADERS if not headers.get(name)]:
            had_them = len(missing) < len(HEADERS) or headers.get("user-agent", "").startswith(PLUGIN)
            why = Undelivered.SIGNATURE_LOST if had_them else Undelivered.SIGNATURE_ABSENT
            raise BadSignature(why(headers=missing))
        stamp = headers["webhook-timestamp"]
        if not (stamp.isascii() and stamp.isdigit() and len(stamp) < LONGEST_STAMP):
            raise BadSignature(Undelivered.TIME_STAMP_MALFORMED(header="webhook-timestamp"))
        if is_in_milliseconds(stamp):
            raise BadSignature(Undelivered.TIME_STAMP_IN_MILLISECONDS(header="webhook-timestamp"))
        if abs(behind := time.time() - int(stamp)) > TOLERANCE_S:
            why = Undelivered.SENDER_CLOCK_BEHIND if behind > 0 else Undelivered.SENDER_CLOCK_AHEAD
            raise BadSignature(why(seconds=round(abs(behind)), most=TOLERANCE_S))
        versions = [one.partition(",") for one in headers["webhook-signature"].split(" ")]
        if not any(version == "v1" and len(signature) == SIGNATURE for version, _, signature in versions):
            form = "v1,<base64 of 32 bytes>"
            raise BadSignature(Undelivered.SIGNATURE_MALFORMED(header="webhook-signature", form=form))

    def verify(self, body: str, headers: Mapping[str, str]) -> int:
        """Check the signature (in constant time) and the time-stamp (5 minutes either way).

        Args:
            body: the request's body as it came.
            headers: the request's headers.

        Returns:
            The index of the secret, from 0.

        Raises:
            BadSignature: if no secret fits, a header is missing, or the time-stamp is too old or new.
        """
        signed = {name: headers[name] for name in HEADERS if name in headers}
        for number, webhook in enumerate(self._webhooks):
            with suppress(Exception):  # the library lets malformed headers raise anything
                webhook.verify(body, signed, json_parse=False)
                return number
        self.check_headers(headers)  # the time-stamp may have grown too old in the meantime
        why = Undelivered.SECRET_UNKNOWN if self._webhooks else Undelivered.SECRET_NOT_SET
        raise BadSignature(why(setting=SETTING))


def _webhook(secret: str) -> Webhook:
    if not secret.startswith(PREFIX):
        raise SettingsError(SystemRefusal.WEBHOOK_SECRET_MALFORMED(prefix=PREFIX))
    try:
        if len(base64.b64decode(secret.removeprefix(PREFIX) + "==")) < SHORTEST:
            raise SettingsError(SystemRefusal.WEBHOOK_SECRET_TOO_SHORT(least=SHORTEST))
        return Webhook(secret)
    except (ValueError, RuntimeError, binascii.Error, EmptyWebhookSecretError):
        raise SettingsError(SystemRefusal.WEBHOOK_SECRET_NOT_ENCODED(prefix=PREFIX)) from None
