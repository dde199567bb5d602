"""What warnings say."""

from __future__ import annotations

from shared.codes.cautions import Amount, Caution
from shared.sentences.template import Plural, Table

SENTENCES: Table = {
    Caution.KEY_NOT_USABLE: "the API key is stored, but nothing can be sent with it yet: {problem}",
    Caution.IDS_NOT_CONFIRMED: (
        "accepted without a check, since no metadata of the tracker confirms it: {keys}"
    ),
    Caution.DRY_RUN_LEFT_BEHIND: (
        "a dry run left {kind:word}[ #{tracker_id}] “{mark}” on {base_url}: delete it there"
    ),
    Caution.LINKS_OF_OTHER_TRACKER: Plural(
        "{count} link (`deskbridge links`) holds ids of the tracker at {base_url}: check it, or make it anew",
        "{count} links (`deskbridge links`) hold ids of the tracker at {base_url}: check each, or make it anew",
    ),
    Caution.OVERRIDES_OF_OTHER_TRACKER: Plural(
        "{count} user override (`deskbridge users`) holds an id of the tracker at {base_url}: "
        "check it, or make it anew",
        "{count} user overrides (`deskbridge users`) hold ids of the tracker at {base_url}: "
        "check each, or make it anew",
    ),
    Caution.LINKED_WITHOUT_CATEGORY: "linked without a category: {problem}",
    Caution.FORM_SENT_AS_IT_IS: "{template} failed, so the form was sent as it is: {problem}",
    Caution.ROLES_NOT_ALLOWED: (
        "role {roles} is neither default_role_id nor in template_role_ids: the standard body will be sent"
    ),
    Caution.IDENTIFIER_NOT_ASKED: (
        "project.identifier was replaced by a mark, so the tracker was not asked about it"
    ),
    Caution.MEMBERSHIP_NOT_ASKED: (
        "the membership was tried in a temporary project: whether they are a member already was not asked"
    ),
    Caution.STILL_A_WATCHER: "default_watcher_ids still has {users}: `deskbridge config set`",
    Amount.ISSUES_COUNTED: Plural("{count} issue", "{count} issues"),
    Amount.ENTRIES_COUNTED: Plural("{count} time entry", "{count} time entries"),
}
