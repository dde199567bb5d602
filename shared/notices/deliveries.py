"""Codes of deliveries that the producer refused: nothing of them is in the journal."""

from __future__ import annotations

from shared.notices.notice import Code, Message

AGREE = "give the helpdesk and {setting} of the producer the same secret, then restart the producer"
ITS_CLOCK = "synchronise the clocks of the sender and of the producer (NTP)"
NO_HELPDESK = (
    "have the helpdesk send what docs/reference/events.md describes; "
    "where it is none of yours, keep it away (firewall)"
)


class Undelivered(Code, article="KB-HELPDESK-005"):
    """Why a delivery was refused."""

    SIGNATURE_ABSENT = Message("signature_absent", "missing header: {headers}", why=NO_HELPDESK)
    SIGNATURE_LOST = Message(
        "signature_lost",
        "missing header: {headers}; the sender had it, and what is in between took it away",
        why=(
            "have the proxy between the helpdesk and the producer pass every header on; the helpdesk sends "
            "again what was refused"
        ),
    )
    SIGNATURE_MALFORMED = Message(
        "signature_malformed", "{header} has no signature of the form {form}", why=NO_HELPDESK
    )
    SIGNATURE_NOT_HEXADECIMAL = Message(
        "signature_not_hexadecimal",
        "{header} is not a signature of {digits} hexadecimal digits",
        why=NO_HELPDESK,
    )
    TIME_STAMP_MALFORMED = Message(
        "time_stamp_malformed", "{header} is not a number of seconds", why=NO_HELPDESK
    )
    TIME_STAMP_IN_MILLISECONDS = Message(
        "time_stamp_in_milliseconds",
        "{header} is in milliseconds; seconds since 1970 are expected",
        why="have the sender divide it by 1000 and drop the fraction, then sign that",
    )
    SENDER_CLOCK_BEHIND = Message(
        "sender_clock_behind",
        "the time stamp is {seconds:.0f} s behind the clock of the producer; at most {most:.0f} s are accepted",
        why=ITS_CLOCK,
    )
    SENDER_CLOCK_AHEAD = Message(
        "sender_clock_ahead",
        "the time stamp is {seconds:.0f} s ahead of the clock of the producer; at most {most:.0f} s are accepted",
        why=ITS_CLOCK,
    )
    SECRET_UNKNOWN = Message("secret_unknown", "none of {setting} made this signature", why=AGREE)
    SECRET_NOT_SET = Message("secret_not_set", "no signing secret is configured ({setting})", why=AGREE)
    CHALLENGE_UNKNOWN = Message("challenge_unknown", "none of {setting} made this crc_token", why=AGREE)
    BODY_NOT_JSON = Message("body_not_json", "the body is not JSON", why=NO_HELPDESK)
    MEDIA_TYPE_WRONG = Message(
        "media_type_wrong", "the Content-Type is not application/json", why=NO_HELPDESK
    )
    BODY_ENCODED = Message(
        "body_encoded",
        "Content-Encoding is not supported: {encoding}",
        why="have the sender, or the proxy in between, send the body uncompressed",
    )
    BODY_CUT_OFF = Message(
        "body_cut_off",
        "the body was cut off",
        why="check the line and the proxies between the helpdesk and the producer",
    )
    BODY_TOO_SLOW = Message(
        "body_too_slow",
        "the whole body did not come within {seconds:g} seconds, or sooner while many sent at once",
        why="check the line and the proxies between the helpdesk and the producer",
    )
    BODY_TOO_LARGE = Message(
        "body_too_large",
        "the body was larger than {most} bytes",
        why="have the helpdesk send fewer events at once",
    )
    EVENT_MALFORMED = Message("event_malformed", "not a valid event[ ({first})]", why=NO_HELPDESK)
    EVENT_LIMIT_REACHED = Message(
        "event_limit_reached",
        "the secret's limit of events per second was used up",
        why="wait: the helpdesk sends them again; where that is its usual load, raise DESKBRIDGE_EVENT_LIMIT",
    )
    JOURNAL_DOWN = Message(
        "journal_down",
        "the journal could not be written",
        why="check the database of the producer; the helpdesk sends them again",
    )
    PATH_UNKNOWN = Message(
        "path_unknown",
        "there is nothing at {path}",
        why="correct the address that the helpdesk sends to: /events, or /webhooks/glpi/… for GLPI",
    )
    METHOD_WRONG = Message(
        "method_wrong", "{method} is not what {path} takes", why="correct what the helpdesk sends: POST"
    )
    PRODUCER_FAILED = Message(
        "producer_failed",
        "the producer failed (status {status})",
        why="look at the log of the producer, and report it",
    )
