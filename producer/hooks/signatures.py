"""Who may send events: Standard Webhooks signatures, several secrets at once for rotation (CONTRACT)."""

from __future__ import annotations

import binascii
from collections.abc import Mapping, Sequence

from pydantic import SecretStr
from standardwebhooks.webhooks import EmptyWebhookSecretError, Webhook

from shared.errors import BadSignature, SettingsError

PREFIX = "whsec_"


class Verifier:
    """Verifies requests against any of the secrets.

    Args:
        secrets: signing secrets, `whsec_<base64>`.

    Raises:
        SettingsError: a secret does not have that form.
    """

    def __init__(self, secrets: Sequence[SecretStr]) -> None:
        self._webhooks = [_webhook(secret.get_secret_value()) for secret in secrets]

    def verify(self, body: str, headers: Mapping[str, str]) -> None:
        """Check the signature and the time-stamp (5 minutes either way).

        Args:
            body: the request's body as it came.
            headers: the request's headers.

        Raises:
            BadSignature: none of the secrets fits, a header is missing, or the time-stamp is too old or new.
        """
        refusal = "no signing secret is configured"
        for webhook in self._webhooks:
            try:
                webhook.verify(body, dict(headers), json_parse=False)
            except Exception as error:  # noqa: BLE001  (the library lets malformed headers raise anything)
                refusal = (
                    str(error) if type(error).__name__ == "WebhookVerificationError" else "malformed headers"
                )
            else:
                return
        raise BadSignature(refusal)


def _webhook(secret: str) -> Webhook:
    if not secret.startswith(PREFIX):
        raise SettingsError(
            f"DESKBRIDGE_WEBHOOK_SECRETS: each must have the form {PREFIX}<base64> (make one: `deskbridge make-secret`)"
        )
    try:
        return Webhook(secret)
    except (ValueError, RuntimeError, binascii.Error, EmptyWebhookSecretError):
        raise SettingsError(
            f"DESKBRIDGE_WEBHOOK_SECRETS: what follows {PREFIX} must be base64 (make one: `deskbridge make-secret`)"
        ) from None
