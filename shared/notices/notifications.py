"""Codes of notifications: what messages report, and why a service did not accept one."""

from __future__ import annotations

from shared.notices.notice import Code, Message, Plural


class Told(Code):
    """The content of a notification."""

    EVENTS_FAILED = Message(
        "notify_events_failed",
        Plural("{count} event failed: {reason}", "{count} events failed: {reason}"),
        article="KB-WORK-003",
    )
    ON_HOLD = Message(
        "notify_on_hold",
        Plural(
            "{count} creation is on hold and needs your decision",
            "{count} creations are on hold and need your decision",
        ),
        article="KB-WORK-002",
    )
    REDMINE_AWAY = Message(
        "notify_redmine_away",
        "nothing could be sent to Redmine for {minutes} min: {reason}",
        article="KB-TRACKER-001",
    )
    CAUSE_UNKNOWN = Message(
        "notify_cause_unknown", "the doctor's page names the cause", article="KB-SERVICE-012"
    )
    NO_WORKER = Message(
        "notify_no_worker",
        "no worker is running for this installation, so nothing is sent",
        article="KB-SERVICE-005",
    )
    REDIS_AWAY = Message("notify_redis_away", "Redis {reason}", article="KB-SERVICE-003")
    NO_EVENTS = Message("notify_no_events", "no event has come in for {hours:g} h", article="KB-HELPDESK-001")
    A_TEST = Message(
        "notify_test",
        "this is a test: messages of deskbridge reach you",
        article="KB-SERVICE-012",
    )


class NotTaken(Code, article="KB-SERVICE-012"):
    """Why a service did not accept a notification."""

    STATUS = Message("notify_status", "{service} answered {status}")
    TOO_LATE = Message("notify_too_late", "{service} did not answer within {seconds:.0f} s")
    NOT_REACHED = Message("notify_not_reached", "{service} could not be reached, or did not take the message")
    URLS_NOT_OPENED = Message(
        "notify_urls_not_opened", "the stored addresses cannot be opened with DESKBRIDGE_SECRET_KEYS"
    )


class NotifyRefusal(Code, article="KB-SERVICE-012"):
    """Why addresses for notifications were not stored, or no message was sent."""

    NOT_INSTALLED = Message(
        "notify_not_installed",
        "{package} is not installed: add the extra {extra} to the lock file and install deskbridge again",
    )
    NONE_STORED = Message(
        "notify_none_stored",
        "no address for notifications is stored (`deskbridge notification set`)",
    )
    URL_NEEDED = Message("notify_url_needed", "type at least one address, each on a line of its own")
    TOO_MANY = Message("notify_too_many", "expected at most {most} addresses")
    URL_UNKNOWN = Message(
        "notify_url_unknown", "line {line} is no address of a service that Apprise can send to from here"
    )
    URL_FORBIDDEN = Message(
        "notify_url_forbidden",
        "line {line} leads to a link-local address, or to a cloud's metadata service",
    )
