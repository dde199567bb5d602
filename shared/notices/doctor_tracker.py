"""What the doctor's checks say: the tracker, and of what its projects allow."""

from __future__ import annotations

from shared.notices.notice import Code, Message, Plural

SET_UP_FIRST = "set up the tracker first"


class TrackerFinding(Code):
    """What a check of the tracker, and of what its projects allow has found."""

    LINKS_USABLE = Message(
        "links_usable",
        Plural("{count} link, to an active project", "{count} links, all to active projects"),
        article="KB-SETUP-002",
    )
    LINKS_NOT_ALL_READ = Message(
        "links_not_all_read",
        "{read} of {count} linked tracker projects were looked at within {seconds:g} s, "
        "those of the newest tickets first",
        why="`deskbridge doctor --all` looks at each, however long the tracker takes",
        article="KB-SETUP-002",
    )
    NOTHING_LINKED = Message(
        "nothing_linked",
        "nothing is linked, so nothing is sent",
        why="`deskbridge link entity ID TRACKER_PROJECT_ID`",
        article="KB-SETUP-002",
    )
    CATEGORY_GONE = Message(
        "category_gone",
        "{link}: tracker project {project_id}[ ({project_name})] has no issue category {category_id}"
        "[; it has: {choices}]",
        why="`deskbridge link {kind} {id} {project_id} --category …`, or `--no-category`",
        article="KB-SETUP-002",
    )
    CATEGORY_ASSIGNEE_LOCKED = Message(
        "linked_category_assignee_locked",
        "{link}: issue category {category_id} ({category}) of tracker project {project_id} assigns its issues to "
        "user {user_id}[ ({user})], who is locked, so the tracker refuses each of them",
        why="give the category another assignee on the tracker, or unlock the user, then `deskbridge sync-metadata`",
        article="KB-SETUP-002",
    )
    ISSUE_TYPE_NOT_USABLE = Message(
        "issue_type_not_usable",
        "issue type {issue_type_id} is not switched on in tracker project {project_id}[ ({project_name})], "
        "so another one is taken[; usable: {choices}]",
        why="switch it on in the project's settings, or change default_tracker_id",
        article="KB-SETUP-007",
    )
    ACTIVITY_NOT_USABLE = Message(
        "activity_not_usable",
        "activity {activity_id} cannot be used in tracker project {project_id}[ ({project_name})][; usable: {choices}]",
        why="enable it in the project's settings, or change default_activity_id",
        article="KB-TRACKER-006",
    )
    TRACKER_ANSWERS = Message("tracker_answers", "{base_url} answers", article="KB-TRACKER-001")
    TRACKER_SLOW = Message(
        "tracker_slow",
        "{base_url} took {seconds:.1f} s for an answer; after 5 s a call is given up",
        why="look for what slows the tracker down: its processors, its memory, its database",
        article="KB-TRACKER-001",
    )
    TRACKER_NOT_SET_UP = Message(
        "tracker_not_set_up", "{problem}", why=SET_UP_FIRST, article="KB-TRACKER-001"
    )
    NOT_A_TRACKER = Message(
        "not_a_tracker",
        "what answers at {base_url} is not the tracker's API: GET /users.json answered {status}",
        why="`deskbridge config set base_url=… --moved`, with the path that the tracker is under",
        article="KB-TRACKER-001",
    )
    TRACKER_NOT_REACHED = Message("tracker_not_reached", "{problem}", article="KB-TRACKER-001")
    KEY_OF_ADMINISTRATOR = Message(
        "key_of_administrator",
        "the API key is an administrator's, and the REST API is on",
        article="KB-TRACKER-002",
    )
    KEY_NOT_KNOWN = Message(
        "key_not_known",
        "the tracker does not know the API key: it was changed, or its owner is locked, which are answered alike",
        why="store another with `deskbridge config set-api-key`",
        article="KB-TRACKER-002",
    )
    KEY_NOT_ADMINISTRATOR = Message(
        "key_not_administrator",
        "the API key is {login}'s, who is no administrator of the tracker",
        why="store an administrator's with `deskbridge config set-api-key`",
        article="KB-TRACKER-002",
    )
    REST_API_OFF = Message(
        "rest_api_off",
        "the tracker's REST API is switched off",
        why="switch it on in the tracker's settings (Administration, Settings, API)",
        article="KB-TRACKER-002",
    )
    TRACKER_REFUSES = Message(
        "tracker_refuses", "{problem}", why="run `deskbridge doctor` again", article="KB-TRACKER-002"
    )
    IMPERSONATION_WORKS = Message(
        "impersonation_works", "the tracker respects {header}", article="KB-TRACKER-004"
    )
    IMPERSONATION_IGNORED = Message(
        "impersonation_ignored",
        "the tracker ignores {header}: everything would be attributed to the administrator",
        why="check header_prefix (`deskbridge config show`) and the proxies in between",
        article="KB-TRACKER-004",
    )
    IMPERSONATION_UNEXPECTED = Message(
        "impersonation_unexpected",
        "the tracker answered {status} to {header}",
        why="check header_prefix (`deskbridge config show`) and the proxies in between",
        article="KB-TRACKER-004",
    )
    IMPERSONATION_UNKNOWN = Message(
        "impersonation_unknown",
        "{problem}",
        why="check header_prefix (`deskbridge config show`) and the proxies in between",
        article="KB-TRACKER-004",
    )
    MODULES_ENABLED = Message(
        "modules_enabled",
        Plural(
            "{count} linked tracker project has what is needed",
            "all {count} linked tracker projects have what is needed",
        ),
        article="KB-TRACKER-005",
    )
    MODULES_MISSING = Message(
        "modules_missing",
        "tracker project {project_id}[ ({project_name})] lacks {modules}",
        why="enable them in the project's settings",
        article="KB-TRACKER-005",
    )
    LINKED_PROJECT_CLOSED = Message(
        "linked_project_closed",
        "tracker project {project_id}[ ({project_name})] ({link}) is closed",
        why="reopen it on the tracker, or `deskbridge link {kind} {id} …` to another one",
        article="KB-SETUP-002",
    )
    LINKED_PROJECT_ARCHIVED = Message(
        "linked_project_archived",
        "tracker project {project_id}[ ({project_name})] ({link}) is archived",
        why="unarchive it on the tracker, or `deskbridge link {kind} {id} …` to another one",
        article="KB-SETUP-002",
    )
    LINKED_PROJECT_GONE = Message(
        "linked_project_gone",
        "tracker project {project_id}[ ({project_name})] ({link}) does not exist: it was deleted",
        why="`deskbridge link {kind} {id} …` to another one, or `deskbridge unlink {kind} {id}`",
        article="KB-SETUP-002",
    )
