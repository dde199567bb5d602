"""Which of GLPI's webhook deliveries are accepted, tested with requests of a real GLPI."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from pydantic import SecretStr

from producer.helpdesks.glpi.signatures import NEWEST_S, OLDEST_S, GlpiVerifier
from shared.errors import BadSignature
from shared.notices.deliveries import Undelivered
from tests.helpdesks.recorded_requests import RECORDED_WITH, recorded, signed
from tests.support.refusals import says

REQUESTS = (
    "task-new",
    "task-update-done",
    "ticket-new",
    "ticket-update-solved",
    "followup-new",
    "solution-new",
)


def verifier(*secrets: str, now: float) -> GlpiVerifier:
    return GlpiVerifier([SecretStr(one) for one in secrets or (RECORDED_WITH,)], lambda: now)


@pytest.mark.parametrize("name", REQUESTS)
def test_a_real_request_is_taken_and_its_signature_is_its_id(name: str) -> None:
    one = recorded(name)
    assert verifier(now=one.at).verify(one.body, one.headers) == (0, one.headers["x-glpi-signature"])


def test_a_request_with_another_body_is_refused() -> None:
    one = recorded("task-new")
    forged = one.body.replace(b"1800", b"9800")
    with pytest.raises(BadSignature, check=says(Undelivered.SECRET_UNKNOWN)):
        verifier(now=one.at).verify(forged, one.headers)


def test_a_request_with_another_time_stamp_is_refused() -> None:
    one = recorded("task-new")
    with pytest.raises(BadSignature, check=says(Undelivered.SECRET_UNKNOWN)):
        verifier(now=one.at).verify(one.body, one.headers | {"x-glpi-timestamp": str(one.at + 1)})


@pytest.mark.parametrize("name", ["x-glpi-signature", "x-glpi-timestamp"])
@pytest.mark.parametrize("value", ["", "é", "-1", "1e9", "9" * 40])
def test_malformed_headers_are_refused_before_the_body_is_looked_at(name: str, value: str) -> None:
    one = recorded("task-new")
    why = Undelivered.SIGNATURE_LOST(headers=["X-GLPI-signature"])
    if value:
        why = Undelivered.SIGNATURE_NOT_HEXADECIMAL(header="X-GLPI-signature", digits=64)
    if name == "x-glpi-timestamp":
        why = Undelivered.TIME_STAMP_MALFORMED(header="X-GLPI-timestamp")
    with pytest.raises(BadSignature, check=says(why)) as refused:
        verifier(now=one.at).check_headers(one.headers | {name: value})
    assert refused.value.notice == why, "its parameters are no words of a language"
    assert "X-GLPI" in str(refused.value)


def test_a_stamp_in_milliseconds_is_called_that() -> None:
    one = recorded("task-new")
    with pytest.raises(BadSignature, check=says(Undelivered.TIME_STAMP_IN_MILLISECONDS)):
        verifier(now=one.at).check_headers(one.headers | {"x-glpi-timestamp": f"{one.at}000"})


def test_repeats_are_taken_for_a_week() -> None:
    one = recorded("task-new")
    verifier(now=one.at + OLDEST_S).verify(one.body, one.headers)
    with pytest.raises(BadSignature, check=says(Undelivered.SENDER_CLOCK_BEHIND, most=OLDEST_S)):
        verifier(now=one.at + OLDEST_S + 1).verify(one.body, one.headers)


def test_a_stamp_from_the_future_is_refused() -> None:
    one = recorded("task-new")
    verifier(now=one.at - NEWEST_S).verify(one.body, one.headers)
    with pytest.raises(BadSignature, check=says(Undelivered.SENDER_CLOCK_AHEAD)):
        verifier(now=one.at - NEWEST_S - 1).verify(one.body, one.headers)


def test_while_a_secret_is_rotated_both_are_taken() -> None:
    both = verifier("new secret", RECORDED_WITH, now=1000)
    for number, secret in enumerate(("new secret", RECORDED_WITH)):
        one = signed(b"{}", 1000, secret)
        assert both.verify(one.body, one.headers)[0] == number


def test_the_challenge_of_a_real_glpi_is_answered() -> None:
    token = recorded("cra-challenge").target.partition("crc_token=")[2]
    expected = hmac.new(RECORDED_WITH.encode(), token.encode(), hashlib.sha256).hexdigest()
    assert verifier("new secret", RECORDED_WITH, now=0).answer_challenge(token) == expected


@pytest.mark.parametrize("token", ["", "é", "f" * 64, '{"item": {}}1795265199'])
def test_nobody_can_have_a_text_of_their_own_signed_as_a_challenge(token: str) -> None:
    with pytest.raises(BadSignature):
        verifier(now=0).answer_challenge(token)
