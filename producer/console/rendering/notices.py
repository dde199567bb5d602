"""What a page says after something was done: the address names it, so that nothing is kept between requests."""

from __future__ import annotations

from shared.notices.language import N_

NOTICES = {
    "replayed": N_("It is being worked on again."),
    "unreadable": N_(
        "Some still cannot be read. They stay as they are; the others are being worked on again."
    ),
    "nothing": N_("Nothing matched any more, so nothing was replayed."),
    "none-chosen": N_("No event was chosen, so nothing was replayed."),
    "adopted": N_("Adopted. What waited for it goes on."),
    "unchecked": N_(
        "Adopted without a check, since the tracker could not be asked. What waited for it goes on."
    ),
    "taken-back": N_("The adoption is taken back: it waits for a decision again."),
    "forgotten": N_("The link is forgotten. The next event creates another one."),
    "corrected": N_("The hours are theirs now."),
    "given": N_("What the map says is given now."),
    "again": N_("It is being created again."),
    "saved": N_("Saved."),
    "draft": N_("Saved as a draft: it has an error, so it cannot be put in force."),
    "unchanged": N_("Nothing was changed."),
    "linked": N_("Linked."),
    "unconfirmed": N_("Linked without a check, since no metadata of the tracker confirms the project."),
    "unlinked": N_("The link is removed."),
    "created": N_("The project was created and linked."),
    "mapped": N_("Saved: from now on they act as this tracker user."),
    "unmapped": N_("Removed: from now on the e-mail decides."),
    "confirmed": N_("Confirmed."),
    "read": N_("The metadata was read."),
    "reading": N_("The metadata is being read. You may leave this page."),
    "activated": N_("It is in force now."),
    "deactivated": N_("It is no longer in force: the standard body is sent again."),
    "rolled-back": N_("The version before is in force again."),
    "deleted": N_("Deleted."),
    "revoked": N_("The token is revoked."),
    "account": N_("The account is changed."),
    "password": N_("The password is changed; every other session has ended."),
}
