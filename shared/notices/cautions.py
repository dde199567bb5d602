"""Codes of warnings about actions that are carried out all the same."""

from __future__ import annotations

from shared.notices.notice import WRONG_ASKED, Code, Message, Plural


class Caution(Code, article=WRONG_ASKED):
    """A warning about an action: what was not checked, needs attention, or was done differently."""

    KEY_NOT_USABLE = Message("key_not_usable", "the API key is stored, but it cannot be used yet: {problem}")
    IDS_NOT_CONFIRMED = Message(
        "ids_not_confirmed", "accepted without a check, because Redmine's metadata has not been read: {keys}"
    )
    DRY_RUN_LEFT_BEHIND = Message(
        "dry_run_left_behind",
        ("a dry run did not delete {kind:word}[ #{tracker_id}] “{mark}” on {base_url}: delete it in Redmine"),
        article="KB-TEMPLATE-002",
    )
    LINKS_OF_OTHER_TRACKER = Message(
        "links_of_other_tracker",
        Plural(
            (
                "{count} mapping (`deskbridge mapping list`) has ids of the Redmine at {base_url}: check it, or create "
                "it again"
            ),
            (
                "{count} mappings (`deskbridge mapping list`) have ids of the Redmine at {base_url}: check each, or "
                "create it again"
            ),
        ),
    )
    OVERRIDES_OF_OTHER_TRACKER = Message(
        "overrides_of_other_tracker",
        Plural(
            (
                "{count} user mapping (`deskbridge user list`) has an id of the Redmine at {base_url}: check it, or "
                "create it again"
            ),
            (
                "{count} user mappings (`deskbridge user list`) have ids of the Redmine at {base_url}: check each, "
                "or create it again"
            ),
        ),
    )
    LINKED_WITHOUT_CATEGORY = Message("linked_without_category", "mapped without a category: {problem}")
    LINKED_UNCHECKED = Message(
        "linked_unchecked",
        (
            "Redmine project {tracker_project_id} was accepted without a check, because no metadata is cached: run "
            "`deskbridge metadata sync`"
        ),
    )
    LINKED_TO_NO_PROJECT = Message(
        "linked_to_no_project",
        "the mapping was added before Redmine's lists were read: {problem}; correct it",
    )
    FORM_SENT_AS_IT_IS = Message(
        "form_sent_as_it_is", "{template} failed, so deskbridge sent the form unchanged: {problem}"
    )
    ROLES_NOT_ALLOWED = Message(
        "roles_not_allowed",
        "role {roles} is not in default_role_id or template_role_ids, so the standard body will be sent",
    )
    IDENTIFIER_NOT_ASKED = Message(
        "identifier_not_asked",
        "the dry run used a test mark as project.identifier, so Redmine has not checked yours",
    )
    MEMBERSHIP_NOT_ASKED = Message(
        "membership_not_asked",
        "the dry run used a temporary project, so it does not show whether the user is already a member",
    )
    STILL_A_WATCHER = Message(
        "still_a_watcher",
        "default_watcher_ids still contains {users}: change it with `deskbridge config set`",
    )


class Amount(Code, article=WRONG_ASKED):
    """A number of objects, within another sentence."""

    ISSUES_COUNTED = Message("issues_counted", Plural("{count} issue", "{count} issues"))
    ENTRIES_COUNTED = Message("entries_counted", Plural("{count} time entry", "{count} time entries"))
