"""Codes of what deskbridge would do if trial mode were off."""

from __future__ import annotations

from shared.notices.notice import Code, Message


class Would(Code, article="KB-WORK-008"):
    """What deskbridge would do for an event if trial mode were off, with the names of users and projects if known."""

    CREATE_ISSUE = Message("would_create_issue", "create an issue in project {project} as {author}")
    LOG_TIME = Message("would_log_time", "log {hours:g} h[ on {day}] in issue #{issue_id} as {author}")
    LOG_TIME_IN_NEW = Message(
        "would_log_time_in_new", "log {hours:g} h[ on {day}] in the new issue as {author}"
    )
    ADD_NOTE = Message("would_add_note", "add a note to issue #{issue_id} as {author}")
    ADD_NOTE_TO_NEW = Message("would_add_note_to_new", "add a note to the new issue as {author}")
    ATTACH = Message("would_attach", "attach document {document_id} to issue #{issue_id} as {author}")
    ATTACH_TO_NEW = Message(
        "would_attach_to_new", "attach document {document_id} to the new issue as {author}"
    )
    SET_STATUS = Message("would_set_status", "set the status of issue #{issue_id} to {status}")
    UPDATE_ISSUE = Message("would_update_issue", "update issue #{issue_id}")
    GIVE_STATUS = Message("would_give_status", "give the new issue the ticket's status")
    AS_API_USER = Message("would_be_api_user", "the API user")
