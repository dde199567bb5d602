"""The signatures of GLPI's webhooks: HMAC-SHA256 over the raw body and the time stamp, as lower-case hex."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence

from pydantic import SecretStr

from shared.errors import BadSignature
from shared.notices.deliveries import Undelivered
from shared.values.validation import is_in_milliseconds

SIGNATURE, TIMESTAMP = "x-glpi-signature", "x-glpi-timestamp"
AGENT = "GuzzleHttp/"
"""Start of the User-Agent of GLPI's webhooks, which GLPI always signs."""
DIGITS = hashlib.sha256().digest_size * 2
CHALLENGE = b"validate_cra_challenge"
OLDEST_S = 7 * 86400
"""GLPI stamps a delivery when it queues it and repeats it with that stamp. A lower limit would lose deliveries after
GLPI's cron was stopped. A repeat changes nothing, since the journal has the signature of each delivery as its id."""
NEWEST_S = 300
SETTING = "DESKBRIDGE_GLPI_WEBHOOK_SECRETS"


class GlpiVerifier:
    """Verifies deliveries and challenges against any of the secrets, so that a secret can be rotated.

    Args:
        secrets: as they are entered in GLPI's webhooks.
        clock: returns the seconds since the epoch.
    """

    def __init__(self, secrets: Sequence[SecretStr], clock: Callable[[], float]) -> None:
        self._secrets = [secret.get_secret_value().encode() for secret in secrets]
        self._clock = clock

    def check_headers(self, headers: Mapping[str, str]) -> None:
        """Check what can be checked before the body is read.

        Raises:
            BadSignature: if a header is missing or malformed, or the time stamp is too old or too new.
        """
        signature, stamp = headers.get(SIGNATURE, ""), headers.get(TIMESTAMP, "")
        if len(signature) != DIGITS or not signature.isascii() or not signature.isalnum():
            if not signature:
                had_it = stamp or headers.get("user-agent", "").startswith(AGENT)
                lost = Undelivered.SIGNATURE_LOST if had_it else Undelivered.SIGNATURE_ABSENT
                raise BadSignature(lost(headers=["X-GLPI-signature"]))
            why = Undelivered.SIGNATURE_NOT_HEXADECIMAL
            raise BadSignature(why(header="X-GLPI-signature", digits=DIGITS))
        if is_in_milliseconds(stamp):
            raise BadSignature(Undelivered.TIME_STAMP_IN_MILLISECONDS(header="X-GLPI-timestamp"))
        if not stamp.isascii() or not stamp.isdigit() or len(stamp) > 12:
            raise BadSignature(Undelivered.TIME_STAMP_MALFORMED(header="X-GLPI-timestamp"))
        age = self._clock() - int(stamp)
        if age > OLDEST_S:
            raise BadSignature(Undelivered.SENDER_CLOCK_BEHIND(seconds=age, most=OLDEST_S))
        if age < -NEWEST_S:
            raise BadSignature(Undelivered.SENDER_CLOCK_AHEAD(seconds=-age, most=NEWEST_S))

    def verify(self, body: bytes, headers: Mapping[str, str]) -> tuple[int, str]:
        """Check the signature, in constant time.

        Args:
            body: the request's body, byte for byte.
            headers: the request's headers.

        Returns:
            The index of the secret, from 0, and the signature, which is the delivery's id: a repeat carries the
            same one.

        Raises:
            BadSignature: as `check_headers`, or if no secret fits.
        """
        self.check_headers(headers)
        given = headers[SIGNATURE]
        signed = body + headers[TIMESTAMP].encode()
        for number, secret in enumerate(self._secrets):
            if hmac.compare_digest(_hmac(secret, signed), given):
                return number, given
        raise BadSignature(Undelivered.SECRET_UNKNOWN(setting=SETTING))

    def answer_challenge(self, token: str) -> str:
        """Answer GLPI's challenge, and sign nothing else: if any text were signed, an attacker could sign deliveries.

        Args:
            token: the `crc_token` of the query.

        Returns:
            The whole body of the answer that GLPI expects.

        Raises:
            BadSignature: if the token was not made with one of the secrets.
        """
        for secret in self._secrets:
            if token.isascii() and hmac.compare_digest(_hmac(secret, CHALLENGE), token):
                return _hmac(secret, token.encode())
        raise BadSignature(Undelivered.CHALLENGE_UNKNOWN(setting=SETTING))


def _hmac(secret: bytes, content: bytes) -> str:
    return hmac.new(secret, content, hashlib.sha256).hexdigest()
