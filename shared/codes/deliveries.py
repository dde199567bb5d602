"""Codes of deliveries that the producer refused: nothing of them is in the journal."""

from __future__ import annotations

from shared.codes.notice import Code


class Undelivered(Code):
    """Why a delivery was refused."""

    SIGNATURE_ABSENT = "signature_absent"
    SIGNATURE_LOST = "signature_lost"
    SIGNATURE_MALFORMED = "signature_malformed"
    SIGNATURE_NOT_HEXADECIMAL = "signature_not_hexadecimal"
    TIME_STAMP_MALFORMED = "time_stamp_malformed"
    TIME_STAMP_IN_MILLISECONDS = "time_stamp_in_milliseconds"
    SENDER_CLOCK_BEHIND = "sender_clock_behind"
    SENDER_CLOCK_AHEAD = "sender_clock_ahead"
    SECRET_UNKNOWN = "secret_unknown"  # noqa: S105 (a code)
    SECRET_NOT_SET = "secret_not_set"  # noqa: S105
    CHALLENGE_UNKNOWN = "challenge_unknown"
    BODY_NOT_JSON = "body_not_json"
    MEDIA_TYPE_WRONG = "media_type_wrong"
    BODY_ENCODED = "body_encoded"
    BODY_CUT_OFF = "body_cut_off"
    BODY_TOO_SLOW = "body_too_slow"
    BODY_TOO_LARGE = "body_too_large"
    EVENT_MALFORMED = "event_malformed"
    EVENT_LIMIT_REACHED = "event_limit_reached"
    JOURNAL_DOWN = "journal_down"
    PATH_UNKNOWN = "path_unknown"
    METHOD_WRONG = "method_wrong"
    PRODUCER_FAILED = "producer_failed"
