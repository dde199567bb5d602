"""What the doctor's checks say: what the help desk sends."""

from __future__ import annotations

from shared.notices.notice import Code, Message, Plural


class HelpdeskFinding(Code):
    """What a check of what the help desk sends has found."""

    NO_EVENT_YET = Message(
        "no_event_yet",
        "no event has come in yet",
        why="save a ticket task on the helpdesk; is the address right, and the secret the same?",
        article="KB-HELPDESK-001",
    )
    LAST_EVENT = Message(
        "last_event",
        "the last event came in {minutes:.0f} min ago",
        why="is that how busy the helpdesk is? Look at what it has queued",
        article="KB-HELPDESK-001",
    )
    NOTHING_REFUSED = Message(
        "nothing_refused", "no delivery was refused within a day", article="KB-HELPDESK-005"
    )
    DELIVERIES_REFUSED = Message(
        "deliveries_refused",
        Plural(
            "the producer on {host} refused {count} delivery since {since}[ ({after} since it accepted one)], "
            "{minutes:.0f} min ago, from {addresses}: {why}",
            (
                "the producer on {host} refused {count} deliveries since {since}[ ({after} since it accepted "
                "one)], the last {minutes:.0f} min ago, from {addresses}: {why}"
            ),
        ),
        article="KB-HELPDESK-005",
    )
    NOTHING_PARKED = Message(
        "nothing_parked",
        "{minutes:.0f} min ago the plugin's queue in GLPI had {waiting} more events to send, and none that was refused",
        article="KB-HELPDESK-005",
    )
    QUEUE_UNKNOWN = Message(
        "queue_unknown", "no plugin in GLPI has said lately what it keeps", article="KB-HELPDESK-005"
    )
    EVENTS_PARKED = Message(
        "events_parked",
        Plural(
            "the plugin's queue in GLPI keeps {count} event that was refused[, of ticket {tickets}], and had {waiting} "
            "more to send {minutes:.0f} min ago",
            (
                "the plugin's queue in GLPI keeps {count} events that were refused[, of tickets {tickets}], and "
                "had {waiting} more to send {minutes:.0f} min ago"
            ),
        ),
        why="see why on the plugin's page in GLPI, and choose *Send everything now* once that is fixed",
        article="KB-HELPDESK-005",
    )
    NOTHING_UNLINKED = Message(
        "nothing_unlinked",
        "no ticket of the last week was left out for want of a link",
        article="KB-HELPDESK-006",
    )
    TICKETS_UNLINKED = Message(
        "tickets_unlinked",
        Plural(
            "entity {id}[ ({name})] is not linked: {count} ticket of the last week was not forwarded ({tickets})",
            "entity {id}[ ({name})] is not linked: {count} tickets of the last week were not forwarded ({tickets})",
        ),
        why="`deskbridge link entity {id} TRACKER_PROJECT_ID --replay`, unless that is meant",
        article="KB-HELPDESK-006",
    )
    LINKED_SINCE = Message(
        "linked_since",
        Plural(
            "{count} ticket was not forwarded before entity {id}[ ({name})] or its project was linked ({tickets})",
            (
                "{count} tickets were not forwarded before entity {id}[ ({name})] or their projects were linked "
                "({tickets})"
            ),
        ),
        why="`deskbridge replay --state skipped --code no_link`",
        article="KB-HELPDESK-006",
    )
    MORE_UNLINKED = Message(
        "more_unlinked",
        Plural(
            "{count} more entity is not linked and had tickets",
            "{count} more entities are not linked and had tickets",
        ),
        why="`deskbridge events --state skipped`",
        article="KB-HELPDESK-006",
    )
    TASKS_ARE_DONE = Message(
        "tasks_are_done", "a ticket task counts as Done in state {done_state}", article="KB-HELPDESK-007"
    )
    NO_TASK_IS_DONE = Message(
        "no_task_is_done",
        "none of the last {count} ticket tasks was Done: they came in state {states}, and Done is {done_state}",
        why="`deskbridge config set done_state=…` where another state means Done, then "
        "`deskbridge replay --state skipped --code not_done`",
        article="KB-HELPDESK-007",
    )
    DELIVERIES_READABLE = Message("deliveries_readable", "all could be read", article="KB-HELPDESK-002")
    DELIVERIES_COMPARED = Message(
        "deliveries_compared",
        Plural(
            "{count} delivery could not be read; the helpdesk was compared with the journal since",
            "{count} deliveries could not be read; the helpdesk was compared with the journal since",
        ),
        article="KB-HELPDESK-002",
    )
    DELIVERIES_UNREADABLE = Message(
        "deliveries_unreadable",
        Plural(
            "{count} delivery was accepted and cannot be read",
            "{count} deliveries were accepted and cannot be read",
        ),
        why="use GLPI's default payload, then `deskbridge reconcile`",
        article="KB-HELPDESK-002",
    )
    HELPDESK_API_NOT_USED = Message(
        "helpdesk_api_not_used", "not used: DESKBRIDGE_GLPI_API_URL is not set", article="KB-HELPDESK-003"
    )
    HELPDESK_API_ANSWERS = Message(
        "helpdesk_api_answers", "answers; its clock agrees within {seconds:.0f} s", article="KB-HELPDESK-003"
    )
    HELPDESK_API_UNREACHABLE = Message(
        "helpdesk_api_unreachable",
        "{problem}",
        why="check DESKBRIDGE_GLPI_API_… and the rights of that user",
        article="KB-HELPDESK-003",
    )
    HELPDESK_CLOCK_DIFFERS = Message(
        "helpdesk_clock_differs",
        "its clock and the one of this machine differ by {seconds:.0f} s",
        why="synchronise the clock of every machine (NTP)",
        article="KB-HELPDESK-003",
    )
    NOT_RECONCILED = Message(
        "not_reconciled",
        "the helpdesk has not been compared with the journal for two days",
        why="workers do it once a day: do they run, with DESKBRIDGE_GLPI_API_… set?",
        article="KB-HELPDESK-004",
    )
    EVENTS_WERE_MISSED = Message(
        "events_were_missed",
        Plural(
            "{count} event had not come in, and was found on the helpdesk",
            "{count} events had not come in, and were found on the helpdesk",
        ),
        why="they were forwarded; find out why the helpdesk did not deliver them",
        article="KB-HELPDESK-004",
    )
    NOTHING_WAS_MISSED = Message(
        "nothing_was_missed", "everything on the helpdesk has come in", article="KB-HELPDESK-004"
    )
