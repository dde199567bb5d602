"""Messages after an action: the address names the message, so that no state is kept between requests."""

from __future__ import annotations

from shared.notices.language import N_

NOTICES = {
    "replayed": N_("deskbridge is processing it again."),
    "unreadable": N_(
        "Some events still cannot be read and do not change. deskbridge is processing the others again."
    ),
    "nothing": N_("No events match any more, so none were replayed."),
    "none-chosen": N_("No events were selected, so none were replayed."),
    "adopted": N_("Adopted. Waiting events continue."),
    "unchecked": N_(
        "Adopted without a check, because Redmine could not be reached. Waiting events continue."
    ),
    "taken-back": N_("Adoption undone. It needs a decision again."),
    "forgotten": N_("Link removed. The next event creates a new object."),
    "corrected": N_("The hours now belong to the right user."),
    "not-corrected": N_("Redmine did not accept every time entry. The reasons are below."),
    "given": N_("The statuses are being updated."),
    "again": N_("It is being created again."),
    "saved": N_("Saved."),
    "test-sent": N_("Test event sent. The step turns green when it has arrived."),
    "test-removed": N_("Test event removed, with what it created in Redmine."),
    "not-notified": N_("Addresses removed. No one is notified."),
    "trial-on": N_("Trial mode is on. Nothing is sent to Redmine for events."),
    "trial-send": N_("Trial mode is off. The waiting events are being sent."),
    "trial-drop": N_("Trial mode is off. The waiting events were dropped; you can replay them."),
    "draft": N_("Saved as a draft. It contains an error, so it cannot be activated."),
    "unchanged": N_("Nothing was changed."),
    "linked": N_("Mapping saved."),
    "unconfirmed": N_("Mapping saved without a check, because Redmine's metadata has not been read."),
    "unlinked": N_("Mapping removed."),
    "created": N_("Project created and mapped."),
    "mapped": N_("Saved. From now on deskbridge acts as this Redmine user."),
    "unmapped": N_("Removed. From now on deskbridge matches this user by e-mail."),
    "confirmed": N_("Confirmed."),
    "read": N_("Metadata read."),
    "reading": N_("deskbridge is reading the metadata. You can leave this page."),
    "activated": N_("Activated."),
    "deactivated": N_("Deactivated. deskbridge sends the standard body again."),
    "rolled-back": N_("The previous version is active again."),
    "deleted": N_("Deleted."),
    "revoked": N_("Token revoked."),
    "account": N_("Account changed."),
    "password": N_("Password changed. All other sessions have ended."),
}
