"""Why a delivery was refused; `WHY`: what to do about it."""

from __future__ import annotations

from shared.codes.deliveries import Undelivered
from shared.sentences.template import Table

SENTENCES: Table = {
    Undelivered.SIGNATURE_ABSENT: "missing header: {headers}",
    Undelivered.SIGNATURE_LOST: "missing header: {headers}; the sender had it, and what is in between took it away",
    Undelivered.SIGNATURE_MALFORMED: "{header} has no signature of the form {form}",
    Undelivered.SIGNATURE_NOT_HEXADECIMAL: "{header} is not a signature of {digits} hexadecimal digits",
    Undelivered.TIME_STAMP_MALFORMED: "{header} is not a number of seconds",
    Undelivered.TIME_STAMP_IN_MILLISECONDS: "{header} is in milliseconds; seconds since 1970 are expected",
    Undelivered.SENDER_CLOCK_BEHIND: (
        "the time stamp is {seconds:.0f} s behind the clock of the producer; at most {most:.0f} s are accepted"
    ),
    Undelivered.SENDER_CLOCK_AHEAD: (
        "the time stamp is {seconds:.0f} s ahead of the clock of the producer; at most {most:.0f} s are accepted"
    ),
    Undelivered.SECRET_UNKNOWN: "none of {setting} made this signature",
    Undelivered.SECRET_NOT_SET: "no signing secret is configured ({setting})",
    Undelivered.CHALLENGE_UNKNOWN: "none of {setting} made this crc_token",
    Undelivered.BODY_NOT_JSON: "the body is not JSON",
    Undelivered.MEDIA_TYPE_WRONG: "the Content-Type is not application/json",
    Undelivered.BODY_ENCODED: "Content-Encoding is not supported: {encoding}",
    Undelivered.BODY_CUT_OFF: "the body was cut off",
    Undelivered.BODY_TOO_SLOW: (
        "the whole body did not come within {seconds:g} seconds, or sooner while many sent at once"
    ),
    Undelivered.BODY_TOO_LARGE: "the body was larger than {most} bytes",
    Undelivered.EVENT_MALFORMED: "not a valid event[ ({first})]",
    Undelivered.EVENT_LIMIT_REACHED: "the secret's limit of events per second was used up",
    Undelivered.JOURNAL_DOWN: "the journal could not be written",
    Undelivered.PATH_UNKNOWN: "there is nothing at {path}",
    Undelivered.METHOD_WRONG: "{method} is not what {path} takes",
    Undelivered.PRODUCER_FAILED: "the producer failed (status {status})",
}

AGREE = "give the helpdesk and {setting} of the producer the same secret, then restart the producer"
ITS_CLOCK = "synchronise the clocks of the sender and of the producer (NTP)"
NO_HELPDESK = (
    "have the helpdesk send what docs/reference/events.md describes; "
    "where it is none of yours, keep it away (firewall)"
)

WHY: Table = {
    Undelivered.SIGNATURE_ABSENT: NO_HELPDESK,
    Undelivered.SIGNATURE_LOST: (
        "have the proxy between the helpdesk and the producer pass every header on; the helpdesk sends again what was "
        "refused"
    ),
    Undelivered.SIGNATURE_MALFORMED: NO_HELPDESK,
    Undelivered.SIGNATURE_NOT_HEXADECIMAL: NO_HELPDESK,
    Undelivered.TIME_STAMP_MALFORMED: NO_HELPDESK,
    Undelivered.TIME_STAMP_IN_MILLISECONDS: "have the sender divide it by 1000 and drop the fraction, then sign that",
    Undelivered.SENDER_CLOCK_BEHIND: ITS_CLOCK,
    Undelivered.SENDER_CLOCK_AHEAD: ITS_CLOCK,
    Undelivered.SECRET_UNKNOWN: AGREE,
    Undelivered.SECRET_NOT_SET: AGREE,
    Undelivered.CHALLENGE_UNKNOWN: AGREE,
    Undelivered.BODY_NOT_JSON: NO_HELPDESK,
    Undelivered.MEDIA_TYPE_WRONG: NO_HELPDESK,
    Undelivered.BODY_ENCODED: "have the sender, or the proxy in between, send the body uncompressed",
    Undelivered.BODY_CUT_OFF: "check the line and the proxies between the helpdesk and the producer",
    Undelivered.BODY_TOO_SLOW: "check the line and the proxies between the helpdesk and the producer",
    Undelivered.BODY_TOO_LARGE: "have the helpdesk send fewer events at once",
    Undelivered.EVENT_MALFORMED: NO_HELPDESK,
    Undelivered.EVENT_LIMIT_REACHED: (
        "wait: the helpdesk sends them again; where that is its usual load, raise DESKBRIDGE_EVENT_LIMIT"
    ),
    Undelivered.JOURNAL_DOWN: "check the database of the producer; the helpdesk sends them again",
    Undelivered.PATH_UNKNOWN: "correct the address that the helpdesk sends to: /events, or /webhooks/glpi/… for GLPI",
    Undelivered.METHOD_WRONG: "correct what the helpdesk sends: POST",
    Undelivered.PRODUCER_FAILED: "look at the log of the producer, and report it",
}
