"""The tracker permissions that deskbridge needs, with their names in the API and for administrators."""

from __future__ import annotations

ADD_ISSUES, LOG_TIME = "add_issues", "log_time"
ADD_NOTES, SET_PRIVATE = "add_issue_notes", "set_notes_private"
RIGHT_TO = {
    ADD_ISSUES: "Add issues",
    LOG_TIME: "Log spent time",
    ADD_NOTES: "Add notes",
    SET_PRIVATE: "Set notes as private",
}
"""Names of needed permissions as the tracker's administrators see them."""
