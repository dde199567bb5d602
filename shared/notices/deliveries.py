"""Codes of deliveries that the producer refused: nothing of them is in the journal."""

from __future__ import annotations

from shared.notices.notice import Code, Message

AGREE = "set the same secret in GLPI and in the producer's {setting}, then restart the producer"
ITS_CLOCK = "synchronise the clocks of the sender and the producer (NTP)"
NO_HELPDESK = (
    "send the request as docs/reference/events.md describes; if the sender is not yours, block it at "
    "the firewall"
)


class Undelivered(Code, article="KB-HELPDESK-005"):
    """Why a delivery was refused."""

    SIGNATURE_ABSENT = Message("signature_absent", "missing header: {headers}", why=NO_HELPDESK)
    SIGNATURE_LOST = Message(
        "signature_lost",
        "missing header: {headers}; the sender sets it, but a proxy on the way removes it",
        why=(
            "configure the proxy between GLPI and the producer to pass on every header; GLPI sends the "
            "rejected events again"
        ),
    )
    SIGNATURE_MALFORMED = Message(
        "signature_malformed", "{header} contains no signature of the form {form}", why=NO_HELPDESK
    )
    SIGNATURE_NOT_HEXADECIMAL = Message(
        "signature_not_hexadecimal",
        "{header} must contain a signature of {digits} hexadecimal digits",
        why=NO_HELPDESK,
    )
    TIME_STAMP_MALFORMED = Message(
        "time_stamp_malformed", "{header} must be a number of seconds", why=NO_HELPDESK
    )
    TIME_STAMP_IN_MILLISECONDS = Message(
        "time_stamp_in_milliseconds",
        "{header} is in milliseconds, and must be in seconds since 1970",
        why="change the sender: divide the time by 1000, drop the fraction, and sign the result",
    )
    SENDER_CLOCK_BEHIND = Message(
        "sender_clock_behind",
        "the time stamp is {seconds:.0f} s behind the producer's clock; at most {most:.0f} s are allowed",
        why=ITS_CLOCK,
    )
    SENDER_CLOCK_AHEAD = Message(
        "sender_clock_ahead",
        ("the time stamp is {seconds:.0f} s ahead of the producer's clock; at most {most:.0f} s are allowed"),
        why=ITS_CLOCK,
    )
    SECRET_UNKNOWN = Message(
        "secret_unknown", "the signature does not match any secret in {setting}", why=AGREE
    )
    SECRET_NOT_SET = Message(
        "secret_not_set", "{setting} is not set, so no signature can be checked", why=AGREE
    )
    CHALLENGE_UNKNOWN = Message(
        "challenge_unknown", "the crc_token does not match any secret in {setting}", why=AGREE
    )
    BODY_NOT_JSON = Message("body_not_json", "the body is not JSON", why=NO_HELPDESK)
    MEDIA_TYPE_WRONG = Message(
        "media_type_wrong", "the Content-Type must be application/json", why=NO_HELPDESK
    )
    BODY_ENCODED = Message(
        "body_encoded",
        "Content-Encoding is not supported: {encoding}",
        why="configure the sender, or the proxy on the way, to send the body uncompressed",
    )
    BODY_CUT_OFF = Message(
        "body_cut_off",
        "the request body is incomplete",
        why="check the network and the proxies between GLPI and the producer",
    )
    BODY_TOO_SLOW = Message(
        "body_too_slow",
        (
            "the request body did not arrive within {seconds:g} seconds, or the producer was too busy to "
            "wait for it"
        ),
        why="check the network and the proxies between GLPI and the producer",
    )
    BODY_TOO_LARGE = Message(
        "body_too_large",
        "the request body is larger than {most} bytes",
        why="configure GLPI to send fewer events per request",
    )
    EVENT_MALFORMED = Message("event_malformed", "not a valid event[ ({first})]", why=NO_HELPDESK)
    EVENT_LIMIT_REACHED = Message(
        "event_limit_reached",
        "too many events per second for this secret",
        why="wait until GLPI sends them again; if this load is normal, raise DESKBRIDGE_EVENT_LIMIT",
    )
    JOURNAL_DOWN = Message(
        "journal_down",
        "the producer could not write to its database",
        why="check the producer's database; GLPI sends the events again",
    )
    PATH_UNKNOWN = Message(
        "path_unknown",
        "there is nothing at {path}",
        why=(
            "correct the URL in GLPI: /events for the plugin; /webhooks/glpi/ticket, /webhooks/glpi/ticket-task, "
            "/webhooks/glpi/followup or /webhooks/glpi/solution for a webhook of GLPI"
        ),
    )
    METHOD_WRONG = Message("method_wrong", "{path} does not accept {method}", why="use POST")
    PRODUCER_FAILED = Message(
        "producer_failed",
        "internal error of the producer (status {status})",
        why="check the producer's log, and report the error",
    )
