"""Check results of the doctor: the help desk's events, deliveries and API."""

from __future__ import annotations

from shared.notices.notice import Code, Message, Plural


class HelpdeskFinding(Code):
    """A check result about GLPI: its events, deliveries and API."""

    NO_EVENT_YET = Message(
        "no_event_yet",
        "no event has arrived yet",
        why="save a ticket task in GLPI; if nothing arrives, check the URL and the secret there",
        article="KB-HELPDESK-001",
    )
    LAST_EVENT = Message(
        "last_event",
        "the last event arrived {minutes:.0f} min ago",
        why="if GLPI was not idle, check its outgoing queue",
        article="KB-HELPDESK-001",
    )
    NOTHING_REFUSED = Message(
        "nothing_refused", "no delivery was rejected in the last 24 hours", article="KB-HELPDESK-005"
    )
    DELIVERIES_REFUSED = Message(
        "deliveries_refused",
        Plural(
            (
                "the producer on {host} rejected {count} delivery since {since}[ ({after} since "
                "the last accepted one of its sender)], {minutes:.0f} min ago, from {addresses}: {why}"
            ),
            (
                "the producer on {host} rejected {count} deliveries since {since}[ ({after} since "
                "the last accepted one of their senders)], the last {minutes:.0f} min ago, from {addresses}: {why}"
            ),
        ),
        article="KB-HELPDESK-005",
    )
    NOTHING_PARKED = Message(
        "nothing_parked",
        "{minutes:.0f} min ago GLPI's plugin had {waiting} queued events and no rejected ones",
        article="KB-HELPDESK-005",
    )
    QUEUE_UNKNOWN = Message(
        "queue_unknown", "no GLPI plugin has reported its queue recently", article="KB-HELPDESK-005"
    )
    EVENTS_PARKED = Message(
        "events_parked",
        Plural(
            (
                "GLPI's plugin has {count} rejected event[, of ticket {tickets}], and had {waiting} queued "
                "events {minutes:.0f} min ago"
            ),
            (
                "GLPI's plugin has {count} rejected events[, of tickets {tickets}], and had {waiting} queued "
                "events {minutes:.0f} min ago"
            ),
        ),
        why="read the reason on the plugin's page in GLPI, fix it, and select *Send everything now*",
        article="KB-HELPDESK-005",
    )
    NOTHING_UNLINKED = Message(
        "nothing_unlinked",
        "every ticket of the last week had a mapping",
        article="KB-HELPDESK-006",
    )
    TICKETS_UNLINKED = Message(
        "tickets_unlinked",
        Plural(
            (
                "entity {id}[ ({name})] has no mapping: {count} ticket of the last week was not forwarded "
                "({tickets})"
            ),
            (
                "entity {id}[ ({name})] has no mapping: {count} tickets of the last week were not forwarded "
                "({tickets})"
            ),
        ),
        why="if they should be, run `deskbridge mapping add entity {id} REDMINE_PROJECT_ID --replay`",
        article="KB-HELPDESK-006",
    )
    LINKED_SINCE = Message(
        "linked_since",
        Plural(
            (
                "{count} ticket was not forwarded, because entity {id}[ ({name})] or its project had no mapping "
                "then ({tickets})"
            ),
            (
                "{count} tickets were not forwarded, because entity {id}[ ({name})] or their projects had no "
                "mapping then ({tickets})"
            ),
        ),
        why="run `deskbridge event replay --state skipped --code no_link`",
        article="KB-HELPDESK-006",
    )
    MORE_UNLINKED = Message(
        "more_unlinked",
        Plural(
            "{count} more entity with tickets has no mapping",
            "{count} more entities with tickets have no mapping",
        ),
        why="run `deskbridge event list --state skipped`",
        article="KB-HELPDESK-006",
    )
    NO_EVENTS_AFTER_DELETION = Message(
        "no_events_after_deletion", "no deleted ticket has later events", article="KB-HELPDESK-008"
    )
    EVENTS_AFTER_DELETION = Message(
        "events_after_deletion",
        Plural(
            "{count} ticket counts as deleted in GLPI, but has later events, which are skipped: {tickets}",
            "{count} tickets count as deleted in GLPI, but have later events, which are skipped: {tickets}",
        ),
        why=(
            "if a restored GLPI gave the id to another ticket, run the statements that `deskbridge ticket highest` "
            "shows; then move the ticket to GLPI's bin and restore it from there"
        ),
        article="KB-HELPDESK-008",
    )
    NOTHING_ADDED_AGAIN = Message(
        "nothing_added_again", "no new item has the id of one that was sent before", article="KB-HELPDESK-009"
    )
    ADDED_AGAIN = Message(
        "added_again",
        Plural(
            "GLPI reported {count} new item with the id of one that was sent before, so it was not sent: {keys}",
            "GLPI reported {count} new items with ids of others that were sent before, so they were not sent: {keys}",
        ),
        why=(
            "if GLPI was restored, run the statements that `deskbridge ticket highest` shows; then run "
            "`deskbridge ticket forget` for each item, and replay its event"
        ),
        article="KB-HELPDESK-009",
    )
    TASKS_ARE_DONE = Message(
        "tasks_are_done", "a ticket task counts as Done in state {done_state}", article="KB-HELPDESK-007"
    )
    NO_TASK_IS_DONE = Message(
        "no_task_is_done",
        (
            "none of the last {count} ticket tasks was Done: they arrived in state {states}, but Done is "
            "{done_state}"
        ),
        why=(
            "if another state means Done, run `deskbridge config set done_state=…`, then `deskbridge event replay "
            "--state skipped --code not_done`"
        ),
        article="KB-HELPDESK-007",
    )
    DELIVERIES_READABLE = Message(
        "deliveries_readable", "every delivery could be read", article="KB-HELPDESK-002"
    )
    DELIVERIES_COMPARED = Message(
        "deliveries_compared",
        Plural(
            "{count} delivery could not be read, and a comparison with GLPI has run since",
            "{count} deliveries could not be read, and a comparison with GLPI has run since",
        ),
        article="KB-HELPDESK-002",
    )
    DELIVERIES_UNREADABLE = Message(
        "deliveries_unreadable",
        Plural(
            "{count} accepted delivery cannot be read",
            "{count} accepted deliveries cannot be read",
        ),
        why="select GLPI's default payload in the webhook, then run `deskbridge reconcile`",
        article="KB-HELPDESK-002",
    )
    HELPDESK_API_NOT_USED = Message(
        "helpdesk_api_not_used",
        "not used, because DESKBRIDGE_GLPI_API_URL is not set",
        article="KB-HELPDESK-003",
    )
    HELPDESK_API_ANSWERS = Message(
        "helpdesk_api_answers", "answers; its clock agrees within {seconds:.0f} s", article="KB-HELPDESK-003"
    )
    HELPDESK_API_UNREACHABLE = Message(
        "helpdesk_api_unreachable",
        "{problem}",
        why="check DESKBRIDGE_GLPI_API_… and the rights of that GLPI user",
        article="KB-HELPDESK-003",
    )
    DOCUMENTS_NOT_SENT = Message("documents_not_sent", "sync_documents is off", article="KB-WORK-009")
    DOCUMENTS_WITHOUT_API = Message(
        "documents_without_api",
        "sync_documents is on, but DESKBRIDGE_GLPI_API_URL is not set, so every document is skipped",
        why="set DESKBRIDGE_GLPI_API_… for the workers, or run `deskbridge config set sync_documents=off`",
        article="KB-WORK-009",
    )
    DOCUMENTS_UNREACHABLE = Message(
        "documents_unreachable",
        "documents wait, because GLPI's API gives no usable answer: {problem}",
        why="check DESKBRIDGE_GLPI_API_… and the rights of that GLPI user",
        article="KB-WORK-009",
    )
    DOCUMENT_NOT_ATTACHED = Message(
        "document_not_attached",
        "the newest document (event {event_id}) is not attached: {because}",
        why="fix the cause; if the event failed, then run `deskbridge event replay {event_id}`[; {where}]",
        article="KB-WORK-009",
    )
    DOCUMENTS_REACHABLE = Message(
        "documents_reachable", "GLPI's API answers, so documents can be fetched", article="KB-WORK-009"
    )
    HELPDESK_CLOCK_DIFFERS = Message(
        "helpdesk_clock_differs",
        "GLPI's clock and this machine's clock differ by {seconds:.0f} s",
        why="synchronise the clocks of all machines (NTP)",
        article="KB-HELPDESK-003",
    )
    NOT_RECONCILED = Message(
        "not_reconciled",
        "the events have not been compared with GLPI for two days",
        why="workers compare once a day: check that one is running and that DESKBRIDGE_GLPI_API_… is set",
        article="KB-HELPDESK-004",
    )
    EVENTS_WERE_MISSED = Message(
        "events_were_missed",
        Plural(
            "{count} event had not arrived, and was found in GLPI",
            "{count} events had not arrived, and were found in GLPI",
        ),
        why="deskbridge has forwarded them; find out why GLPI did not deliver them",
        article="KB-HELPDESK-004",
    )
    NOTHING_WAS_MISSED = Message("nothing_was_missed", "no events are missing", article="KB-HELPDESK-004")
