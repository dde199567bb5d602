"""The rights of the tracker that deskbridge needs, as its API and its administrators call them."""

from __future__ import annotations

ADD_ISSUES, LOG_TIME = "add_issues", "log_time"
ADD_NOTES, SET_PRIVATE = "add_issue_notes", "set_notes_private"
RIGHT_TO = {
    ADD_ISSUES: "Add issues",
    LOG_TIME: "Log spent time",
    ADD_NOTES: "Add notes",
    SET_PRIVATE: "Set notes as private",
}
"""Names of rights, as the tracker's administrators see them."""
