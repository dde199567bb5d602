"""Check results of the doctor: the tracker, and what its projects allow."""

from __future__ import annotations

from shared.notices.notice import Code, Message, Plural

SET_UP_FIRST = "connect Redmine first"


class TrackerFinding(Code):
    """A check result about Redmine and what its projects allow."""

    LINKS_USABLE = Message(
        "links_usable",
        Plural(
            "{count} mapping, to an active project",
            "{count} mappings, all to active projects",
        ),
        article="KB-SETUP-002",
    )
    DELETED_BUT_OPEN = Message(
        "deleted_but_open",
        Plural(
            "the ticket of an issue was deleted in GLPI, but the issue is open: {issues}",
            "the tickets of {count} issues were deleted in GLPI, but the issues are open: {issues}",
        ),
        why=(
            "close them in Redmine if the work is done; set deleted_status_id to give a status to those of tickets "
            "that are deleted later"
        ),
        article="KB-SETUP-004",
    )
    LINKS_NOT_ALL_READ = Message(
        "links_not_all_read",
        (
            "{read} of {count} mapped Redmine projects were checked within {seconds:g} s, those of the "
            "newest tickets first"
        ),
        why="run `deskbridge doctor --all`, which has no time limit",
        article="KB-SETUP-002",
    )
    NOTHING_LINKED = Message(
        "nothing_linked",
        "no GLPI entity or project is mapped, so nothing is sent",
        why="run `deskbridge mapping add entity ID REDMINE_PROJECT_ID`",
        article="KB-SETUP-002",
    )
    CATEGORY_GONE = Message(
        "category_gone",
        (
            "{link}: Redmine project {project_id}[ ({project_name})] has no issue category {category_id}[; "
            "it has: {choices}]"
        ),
        why="run `deskbridge mapping add {kind} {id} {project_id} --category …`, or with `--no-category`",
        article="KB-SETUP-002",
    )
    CATEGORY_ASSIGNEE_LOCKED = Message(
        "linked_category_assignee_locked",
        (
            "{link}: issue category {category_id} ({category}) of Redmine project {project_id} assigns "
            "issues to user {user_id}[ ({user})], who is locked. Redmine rejects every issue in this category"
        ),
        why=(
            "give the category another assignee in Redmine, or unlock the user, then run `deskbridge "
            "metadata sync`"
        ),
        article="KB-SETUP-002",
    )
    ISSUE_TYPE_NOT_USABLE = Message(
        "issue_type_not_usable",
        (
            "issue type {issue_type_id} is not enabled in Redmine project {project_id}[ ({project_name})], "
            "so Redmine uses another one[; enabled: {choices}]"
        ),
        why="enable it in the project's settings, or change default_tracker_id",
        article="KB-SETUP-007",
    )
    ACTIVITY_NOT_USABLE = Message(
        "activity_not_usable",
        (
            "activity {activity_id} is not enabled in Redmine project {project_id}[ ({project_name})][; "
            "enabled: {choices}]"
        ),
        why="enable it in the project's settings, or change default_activity_id",
        article="KB-TRACKER-006",
    )
    TRACKER_ANSWERS = Message("tracker_answers", "{base_url} answers", article="KB-TRACKER-001")
    TRACKER_SLOW = Message(
        "tracker_slow",
        "{base_url} took {seconds:.1f} s to answer; the timeout is 5 s",
        why="check the CPU, memory and database of the Redmine server",
        article="KB-TRACKER-001",
    )
    TRACKER_NOT_SET_UP = Message(
        "tracker_not_set_up", "{problem}", why=SET_UP_FIRST, article="KB-TRACKER-001"
    )
    NOT_A_TRACKER = Message(
        "not_a_tracker",
        "the server at {base_url} is not the Redmine API: GET /users.json answered {status}",
        why="run `deskbridge config set base_url=… --moved` with Redmine's full URL, including its path",
        article="KB-TRACKER-001",
    )
    TRACKER_NOT_REACHED = Message("tracker_not_reached", "{problem}", article="KB-TRACKER-001")
    KEY_OF_ADMINISTRATOR = Message(
        "key_of_administrator",
        "the API key belongs to a Redmine administrator, and the REST API is enabled",
        article="KB-TRACKER-002",
    )
    KEY_NOT_KNOWN = Message(
        "key_not_known",
        "Redmine rejects the API key: it was changed, or its owner is locked",
        why="store another key with `deskbridge config set-api-key`",
        article="KB-TRACKER-002",
    )
    KEY_NOT_ADMINISTRATOR = Message(
        "key_not_administrator",
        "the API key belongs to {login}, who is not a Redmine administrator",
        why="store an administrator's key with `deskbridge config set-api-key`",
        article="KB-TRACKER-002",
    )
    REST_API_OFF = Message(
        "rest_api_off",
        "Redmine's REST API is disabled",
        why="enable it in Redmine (Administration, Settings, API)",
        article="KB-TRACKER-002",
    )
    TRACKER_REFUSES = Message(
        "tracker_refuses", "{problem}", why="run `deskbridge doctor` again", article="KB-TRACKER-002"
    )
    IMPERSONATION_WORKS = Message("impersonation_works", "Redmine accepts {header}", article="KB-TRACKER-004")
    IMPERSONATION_IGNORED = Message(
        "impersonation_ignored",
        "Redmine ignores {header}, so everything would have the API user as its author",
        why="check header_prefix (`deskbridge config show`) and the proxies on the way",
        article="KB-TRACKER-004",
    )
    IMPERSONATION_UNEXPECTED = Message(
        "impersonation_unexpected",
        "Redmine answered {status} to {header}",
        why="check header_prefix (`deskbridge config show`) and the proxies on the way",
        article="KB-TRACKER-004",
    )
    IMPERSONATION_UNKNOWN = Message(
        "impersonation_unknown",
        "{problem}",
        why="check header_prefix (`deskbridge config show`) and the proxies on the way",
        article="KB-TRACKER-004",
    )
    MODULES_ENABLED = Message(
        "modules_enabled",
        Plural(
            "{count} mapped Redmine project has the required modules",
            "all {count} mapped Redmine projects have the required modules",
        ),
        article="KB-TRACKER-005",
    )
    MODULES_MISSING = Message(
        "modules_missing",
        "Redmine project {project_id}[ ({project_name})] lacks {modules}",
        why="enable the modules in the project's settings",
        article="KB-TRACKER-005",
    )
    LINKED_PROJECT_CLOSED = Message(
        "linked_project_closed",
        "Redmine project {project_id}[ ({project_name})] ({link}) is closed",
        why="reopen it in Redmine, or map to another project with `deskbridge mapping add {kind} {id} …`",
        article="KB-SETUP-002",
    )
    LINKED_PROJECT_ARCHIVED = Message(
        "linked_project_archived",
        "Redmine project {project_id}[ ({project_name})] ({link}) is archived",
        why="unarchive it in Redmine, or map to another project with `deskbridge mapping add {kind} {id} …`",
        article="KB-SETUP-002",
    )
    LINKED_PROJECT_GONE = Message(
        "linked_project_gone",
        "Redmine project {project_id}[ ({project_name})] ({link}) was deleted",
        why=(
            "map to another project with `deskbridge mapping add {kind} {id} …`, or remove the mapping with "
            "`deskbridge mapping remove {kind} {id}`"
        ),
        article="KB-SETUP-002",
    )
