"""What the doctor's checks say: what waits, failed or is on hold, or of a template."""

from __future__ import annotations

from shared.notices.notice import Code, Message, Plural

MAP = "`deskbridge map-user HELPDESK_USER_ID TRACKER_USER_ID`"


class WorkFinding(Code):
    """What a check of what waits, failed or is on hold, or of a template has found."""

    TEMPLATES_RENDER = Message("templates_render", "in force: {templates}", article="KB-TEMPLATE-001")
    TEMPLATES_NOT_USED = Message(
        "templates_not_used", "none in force: the standard bodies are sent", article="KB-TEMPLATE-001"
    )
    TEMPLATE_NOT_RENDERED = Message(
        "template_not_rendered",
        "template {id} ({name}), version {version}, for {operation} cannot be rendered, so the standard body is sent: "
        "{problem}",
        why="`deskbridge template preview {id}`, fix it, or `deskbridge template rollback {id}`",
        article="KB-TEMPLATE-001",
    )
    TEMPLATE_OUT_OF_DATE = Message(
        "template_out_of_date",
        "template {id} ({name}), version {version}, for {operation} names what the tracker does not have: "
        "{field}: {problem}",
        why="`deskbridge template save`, corrected, then `activate`; or `deskbridge template deactivate {id}`",
        article="KB-TEMPLATE-001",
    )
    CUSTOM_FIELDS_SENT = Message(
        "custom_fields_sent", "all required ones are sent, or have a default value", article="KB-TRACKER-003"
    )
    CUSTOM_FIELDS_NOT_SENT = Message(
        "custom_fields_not_sent",
        "{operation} lacks required custom fields: {fields}",
        why="give them a default value on the tracker, or activate a template for {operation} "
        "(`deskbridge template generate --operation {operation}`)",
        article="KB-TRACKER-003",
    )
    DRY_RUNS_CLEANED = Message(
        "dry_runs_cleaned", "nothing is left on the tracker", article="KB-TEMPLATE-002"
    )
    DRY_RUNS_LEFT = Message(
        "dry_runs_left",
        "{count} left on the tracker: {objects}",
        why="delete it on the tracker, or wait: the sweep tries again",
        article="KB-TEMPLATE-002",
    )
    NOTHING_PENDING = Message("nothing_pending", "no event is waiting", article="KB-WORK-001")
    EVENTS_PENDING = Message(
        "events_pending",
        Plural(
            "{count} event is waiting, for {seconds:.0f} s[: {why}]",
            "{count} events are waiting, the oldest for {seconds:.0f} s[: {why}]",
        ),
        why="`deskbridge trace {ticket_id}` shows what it waits for",
        article="KB-WORK-001",
    )
    WORKER_SET_UP_OTHERWISE = Message(
        "worker_set_up_otherwise",
        Plural(
            "{count} event waits: a worker could not work some seconds ago ({because}), and this command can",
            "{count} events wait: a worker could not work some seconds ago ({because}), and this command can",
        ),
        why="if it stays, give every worker the environment of this command, and restart it",
        article="KB-WORK-001",
    )
    EVERYTHING_PAUSED = Message("everything_paused", "paused, {because}", article="KB-WORK-001")
    CREATIONS_ANSWERED = Message(
        "creations_answered",
        "nothing that is sent to the tracker is answered by something in its place",
        article="KB-TRACKER-012",
    )
    CREATIONS_NOT_PASSED_ON = Message(
        "creations_not_passed_on",
        Plural(
            "{count} ticket is not forwarded ({tickets}): {cause}",
            "{count} tickets are not forwarded (the newest: {tickets}): {cause}",
        ),
        article="KB-TRACKER-012",
    )
    NOTHING_HELD = Message("nothing_held", "nothing waits for a decision", article="KB-WORK-002")
    ROWS_HELD = Message(
        "rows_held",
        Plural(
            "{count} issue or time entry waits for a decision",
            "{count} issues or time entries wait for a decision",
        ),
        why="`deskbridge held`",
        article="KB-WORK-002",
    )
    HELD_FOR_NOTHING = Message(
        "held_for_nothing",
        Plural(
            "{count} event is held, and nothing of its ticket waits for a decision",
            "{count} events are held, and nothing of their tickets waits for a decision",
        ),
        why="`deskbridge replay --state held`",
        article="KB-WORK-002",
    )
    NOTHING_FAILED = Message("nothing_failed", "no event failed", article="KB-WORK-003")
    EVENTS_FAILED = Message(
        "events_failed",
        Plural("{count} event failed", "{count} events failed"),
        why="`deskbridge events --state failed`, fix the cause, `deskbridge replay --state failed`",
        article="KB-WORK-003",
    )
    EVENTS_FAILED_FOR = Message(
        "events_failed_for",
        Plural("{count} event failed: {cause}", "{count} events failed: {cause}"),
        why="fix it, then `deskbridge replay --state failed --code {code}`",
        article="KB-WORK-003",
    )
    EVENTS_FIXED = Message(
        "events_fixed",
        Plural(
            "{count} event failed, and its cause is fixed (it was: {cause})",
            "{count} events failed, and their cause is fixed (it was: {cause})",
        ),
        why="`deskbridge replay --state failed --code {code}`",
        article="KB-WORK-003",
    )
    AUTHORS_RIGHT = Message("authors_right", "everything has the author who was meant", article="KB-WORK-005")
    AUTHORS_WRONG = Message(
        "authors_wrong",
        Plural(
            "{count} issue or time entry has another author than was meant",
            "{count} issues or time entries have another author than was meant",
        ),
        why="`deskbridge misattributed`",
        article="KB-WORK-005",
    )
    AUTHORS_DELETED = Message(
        "authors_deleted",
        Plural(
            "{count} issue or time entry lost its author, a tracker user who was deleted (ticket {tickets})",
            "{count} issues or time entries lost their author, a tracker user who was deleted (the newest: tickets "
            "{tickets})",
        ),
        why=f"{MAP}, then `deskbridge correct-author TASK_ID` for the hours (ticket tasks {{tasks}})",
        article="KB-WORK-005",
    )
    STATUSES_GIVEN = Message("statuses_given", "the tracker refused no status", article="KB-SETUP-004")
    STATUSES_NOT_GIVEN = Message(
        "statuses_not_given",
        Plural(
            "{count} issue has another status than its ticket (ticket {tickets}): {cause}",
            "{count} issues have another status than their tickets (the newest: tickets {tickets}): {cause}",
        ),
        why="fix it, then `deskbridge replay {events: }`",
        article="KB-SETUP-004",
    )
    FIELDS_TAKEN = Message(
        "fields_taken",
        "the tracker took every field of the issues of the last {days} days",
        article="KB-WORK-007",
    )
    FIELDS_NOT_TAKEN = Message(
        "fields_not_taken",
        Plural(
            "{count} issue of the last {days} days has other values than were sent (ticket {tickets})",
            "{count} issues of the last {days} days have other values than were sent (the newest: tickets {tickets})",
        ),
        why="`deskbridge trace {ticket_id}` names the fields; let a role set them on the tracker, or send them no more",
        article="KB-WORK-007",
    )
    RECOVERY_OFF = Message(
        "recovery_off", "off: creations are sent without asking the tracker first", article="KB-WORK-004"
    )
    RECOVERY_ON = Message(
        "recovery_on",
        "on since {since}: the tracker is asked before each creation",
        why="`deskbridge recover --end` once everything was sent again",
        article="KB-WORK-004",
    )
