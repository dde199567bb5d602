"""Check results of the doctor: pending and failed events, creations, their differences, and templates."""

from __future__ import annotations

from shared.notices.notice import Code, Message, Plural
from shared.notices.system_refusals import CONFIRM_DATABASE

MAP = "run `deskbridge user map GLPI_USER_ID REDMINE_USER_ID`"


class WorkFinding(Code):
    """A check result about pending or failed events, creations, or templates."""

    TEMPLATES_RENDER = Message("templates_render", "active: {templates}", article="KB-TEMPLATE-001")
    TEMPLATES_NOT_USED = Message(
        "templates_not_used",
        "no template is active, so the standard bodies are sent",
        article="KB-TEMPLATE-001",
    )
    TEMPLATE_NOT_RENDERED = Message(
        "template_not_rendered",
        (
            "template {id} ({name}), version {version}, for {operation} failed, so the standard body is "
            "sent: {problem}"
        ),
        why="run `deskbridge template preview {id}` and fix it, or run `deskbridge template rollback {id}`",
        article="KB-TEMPLATE-001",
    )
    TEMPLATE_OUT_OF_DATE = Message(
        "template_out_of_date",
        (
            "template {id} ({name}), version {version}, for {operation} has an id that Redmine does not "
            "have: {field}: {problem}"
        ),
        why=(
            "save a corrected version with `deskbridge template save` and activate it, or run `deskbridge "
            "template deactivate {id}`"
        ),
        article="KB-TEMPLATE-001",
    )
    CUSTOM_FIELDS_SENT = Message(
        "custom_fields_sent",
        "all required custom fields are sent or have a default value",
        article="KB-TRACKER-003",
    )
    CUSTOM_FIELDS_NOT_SENT = Message(
        "custom_fields_not_sent",
        "{operation} does not send these required custom fields: {fields}",
        why=(
            "set a default value in Redmine, or activate a template for {operation} (`deskbridge template "
            "generate --operation {operation}`)"
        ),
        article="KB-TRACKER-003",
    )
    DRY_RUNS_CLEANED = Message(
        "dry_runs_cleaned", "no test objects remain in Redmine", article="KB-TEMPLATE-002"
    )
    DRY_RUNS_LEFT = Message(
        "dry_runs_left",
        "{count} test objects remain in Redmine: {objects}",
        why="delete them in Redmine, or wait until the next sweep deletes them",
        article="KB-TEMPLATE-002",
    )
    NOTHING_PENDING = Message("nothing_pending", "no event is waiting", article="KB-WORK-001")
    EVENTS_PENDING = Message(
        "events_pending",
        Plural(
            "{count} event is waiting, for {seconds:.0f} s[: {why}]",
            "{count} events are waiting, the oldest for {seconds:.0f} s[: {why}]",
        ),
        why=(
            "run `deskbridge ticket history {ticket_id}` to see the reason[; if Redmine goes on to answer {status}, "
            "read its log]"
        ),
        article="KB-WORK-001",
    )
    WORKER_SET_UP_OTHERWISE = Message(
        "worker_set_up_otherwise",
        Plural(
            "{count} event is waiting: a worker failed seconds ago ({because}), but this command succeeds",
            "{count} events are waiting: a worker failed seconds ago ({because}), but this command succeeds",
        ),
        why="if this persists, give every worker the same environment as this command, and restart it",
        article="KB-WORK-001",
    )
    REDIS_UNUSABLE = Message("redis_unusable", "Redis {because}", article="KB-WORK-001")
    EVERYTHING_PAUSED = Message(
        "everything_paused", "paused[ since {since}]: {because}", article="KB-WORK-001"
    )
    CREATIONS_ANSWERED = Message(
        "creations_answered",
        "no proxy or other server answers in Redmine's place",
        article="KB-TRACKER-012",
    )
    CREATIONS_NOT_PASSED_ON = Message(
        "creations_not_passed_on",
        Plural(
            "{count} ticket is not forwarded ({tickets}): {cause}",
            "{count} tickets are not forwarded (newest: {tickets}): {cause}",
        ),
        article="KB-TRACKER-012",
    )
    NOTHING_HELD = Message("nothing_held", "nothing is on hold", article="KB-WORK-002")
    ROWS_HELD = Message(
        "rows_held",
        Plural(
            "{count} creation needs your decision",
            "{count} creations need your decision",
        ),
        why="run `deskbridge hold list`",
        article="KB-WORK-002",
    )
    HELD_FOR_NOTHING = Message(
        "held_for_nothing",
        Plural(
            "{count} event is on hold although its ticket has nothing to decide",
            "{count} events are on hold although their tickets have nothing to decide",
        ),
        why="run `deskbridge event replay --state on_hold`",
        article="KB-WORK-002",
    )
    NOTHING_FAILED = Message("nothing_failed", "no failed events", article="KB-WORK-003")
    EVENTS_FAILED = Message(
        "events_failed",
        Plural("{count} event failed", "{count} events failed"),
        why=(
            "run `deskbridge event list --state failed`, fix the cause, then run `deskbridge event replay --state "
            "failed`"
        ),
        article="KB-WORK-003",
    )
    EVENTS_FAILED_FOR = Message(
        "events_failed_for",
        Plural("{count} event failed: {cause}", "{count} events failed: {cause}"),
        why="fix the cause, then run `deskbridge event replay --state failed --code {code}`[; {where}]",
        article="KB-WORK-003",
    )
    EVENTS_FIXED = Message(
        "events_fixed",
        Plural(
            "{count} event failed, but its cause is fixed (it was: {cause})",
            "{count} events failed, but their cause is fixed (it was: {cause})",
        ),
        why="run `deskbridge event replay --state failed --code {code}`",
        article="KB-WORK-003",
    )
    AUTHORS_RIGHT = Message(
        "authors_right", "every issue and time entry has the intended author", article="KB-WORK-005"
    )
    AUTHORS_WRONG = Message(
        "authors_wrong",
        Plural(
            "{count} issue or time entry has the wrong author",
            "{count} issues or time entries have the wrong author",
        ),
        why="run `deskbridge author list`",
        article="KB-WORK-005",
    )
    AUTHORS_DELETED = Message(
        "authors_deleted",
        Plural(
            (
                "{count} issue or time entry lost its author, because the Redmine user was deleted (ticket "
                "{tickets})"
            ),
            (
                "{count} issues or time entries lost their author, because the Redmine user was deleted (newest "
                "tickets: {tickets})"
            ),
        ),
        why=f"{MAP}, then `deskbridge author correct TASK_ID` for each time entry (ticket tasks {{tasks}})",
        article="KB-WORK-005",
    )
    STATUSES_GIVEN = Message("statuses_given", "Redmine accepted every status", article="KB-SETUP-004")
    STATUSES_NOT_GIVEN = Message(
        "statuses_not_given",
        Plural(
            "the status of {count} issue differs from its ticket's (ticket {tickets}): {cause}",
            "the status of {count} issues differs from their tickets' (newest tickets: {tickets}): {cause}",
        ),
        why="fix the cause, then run `deskbridge event replay {events: }`[; {where}]",
        article="KB-SETUP-004",
    )
    FIELDS_TAKEN = Message(
        "fields_taken",
        "Redmine accepted all fields of the issues of the last {days} days",
        article="KB-WORK-007",
    )
    FIELDS_NOT_TAKEN = Message(
        "fields_not_taken",
        Plural(
            (
                "{count} issue of the last {days} days has other values in Redmine than deskbridge sent (ticket "
                "{tickets})"
            ),
            (
                "{count} issues of the last {days} days have other values in Redmine than deskbridge sent "
                "(newest tickets: {tickets})"
            ),
        ),
        why=(
            "`deskbridge ticket history {ticket_id}` lists the fields; give a role the right to set them in Redmine, "
            "or stop sending them"
        ),
        article="KB-WORK-007",
    )
    TRIAL_OFF = Message("trial_off", "off", article="KB-WORK-008")
    TRIAL_ON = Message(
        "trial_on",
        Plural(
            "on: {count} event waits, and nothing is sent to Redmine",
            "on: {count} events wait, and nothing is sent to Redmine",
        ),
        why="run `deskbridge trial off` to end it",
        article="KB-WORK-008",
    )
    RECOVERY_OFF = Message(
        "recovery_off", "off: deskbridge creates objects without a search in Redmine", article="KB-WORK-004"
    )
    RECOVERY_NOT_BEGUN = Message(
        "recovery_not_begun", "nothing is sent: {problem}", why=CONFIRM_DATABASE, article="KB-WORK-010"
    )
    RECOVERY_ON = Message(
        "recovery_on",
        "on since {since}: deskbridge searches Redmine before each creation",
        why="run `deskbridge restore end` when GLPI was compared after the restore, and nothing is pending",
        article="KB-WORK-004",
    )


class InRedmine(Code, article="KB-WORK-003"):
    """Where in Redmine a person finds the cause of a refusal, which only Redmine's own message names."""

    OF_ISSUES = Message(
        "refused_issue_place",
        (
            "Redmine's message names the cause (required fields: Administration, Workflow, Fields permissions; other "
            "rules: Redmine's plug-ins)"
        ),
    )
    OF_TIME_ENTRIES = Message(
        "refused_time_place",
        (
            "Redmine's message names the cause (required fields and limits: Administration, Settings, Time tracking; "
            "closed periods: Redmine's plug-ins)"
        ),
    )
    OF_FILES = Message(
        "refused_file_place",
        (
            "Redmine's message names the cause (size and extensions: Administration, Settings, Files; virus scanners: "
            "Redmine's plug-ins)"
        ),
    )
