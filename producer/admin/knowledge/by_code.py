"""Which record says more about a code that an event, a trace, a refused delivery or the doctor names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shared.codes.authors import Misattribution
from shared.codes.coded import Code
from shared.codes.deliveries import Undelivered
from shared.codes.faults import Detail, Fault
from shared.codes.reasons import Matching, Reason, Verdict
from shared.refusals.records import RECORDS as OF_HINTS

NOTHING_WRONG = "KB-WORK-006"
"""What is not named below is the normal course of things."""

NAMED: Mapping[str, Iterable[Code]] = {
    "KB-HELPDESK-002": (Reason.EVENT_UNREADABLE, Reason.DELIVERY_UNREADABLE),
    "KB-HELPDESK-003": (Reason.HELPDESK_AWAITED, Reason.HELPDESK_NOT_ASKED, Reason.HELPDESK_SILENT_ON_IT),
    "KB-HELPDESK-005": Undelivered,
    "KB-HELPDESK-006": (Reason.NO_LINK,),
    "KB-HINT-008": (Fault.MEMBERSHIP_UNKNOWN, Fault.IMPERSONATION_REFUSED),
    "KB-SETUP-004": (
        Reason.STATUS_NOT_MAPPED,
        Reason.STATUS_NOT_IN_TEMPLATE,
        Reason.STATUS_REFUSED,
        Detail.STATUS_NOT_THERE,
    ),
    "KB-SETUP-006": (
        *Matching,
        Fault.LOGIN_UNKNOWN,
        Detail.LOGIN_NO_HEADER,
        Detail.USER_WITHOUT_ID,
        Detail.NO_USERS,
    ),
    "KB-TEMPLATE-001": (Fault.TEMPLATE_FAULTY,),
    "KB-TEMPLATE-002": (
        Reason.CREATION_UNKNOWN,
        Reason.NO_ID_IN_ANSWER,
        Reason.IN_USE,
        Reason.PROJECT_BELOW,
        Reason.ISSUE_BELOW,
        Reason.ISSUES_WITHIN,
    ),
    "KB-TRACKER-001": (
        Fault.TRACKER_FAILED,
        Fault.TRACKER_UNREACHABLE,
        Fault.TRACKER_BUSY,
        Fault.TRACKER_AWAY,
        Fault.OUTCOME_UNKNOWN,
        Fault.OPENNESS_UNKNOWN,
        Detail.NO_CONNECTION,
        Detail.ADDRESS_FORBIDDEN,
        Detail.TIME_OUT,
        Detail.CONNECTION_LOST,
        Detail.NOT_JSON,
        Detail.NOT_THE_TRACKERS,
        Detail.NO_OBJECT,
        Detail.NO_LIST,
        Detail.WRONG_TOTAL_COUNT,
        Detail.LIST_CHANGED,
        Detail.TOO_MANY_PAGES,
        Detail.REDIRECT_NOT_FOLLOWED,
        Detail.ROW_WITHOUT_ID,
    ),
    "KB-TRACKER-002": (
        Fault.TRACKER_CLOSED,
        Detail.KEY_IS_UNKNOWN,
        Detail.KEY_NOT_ADMINISTRATORS,
        Detail.REST_SWITCHED_OFF,
    ),
    "KB-TRACKER-007": (Fault.PROJECT_UNKNOWN,),
    "KB-WORK-001": (
        Reason.STATUS_WAITS,
        Reason.BEING_CREATED,
        Reason.BEING_WORKED_ON,
        Reason.BEGUN_ANEW,
        Reason.ROW_CHANGED,
        Reason.EQUAL_SETTLED_FIRST,
        Reason.LINKED_ELSEWHERE,
        Reason.CREATION_IN_DOUBT,
        Reason.NEVER_TOLD,
        Reason.ASKED_AFTER_RESTORE,
        Reason.EQUAL_UNDER_WAY,
        Fault.LOCK_HELD,
        Fault.LOCK_RAN_OUT,
        Fault.LEASE_RAN_OUT,
    ),
    "KB-WORK-002": (
        *Verdict,
        Reason.WAITS_FOR_PERSON,
        Reason.OWNED_BY_ANOTHER,
        Reason.POSSIBLY_TWICE,
        Reason.STAYS_UNDECIDED,
        Reason.POLICY_IS_HOLD,
        Reason.UNEXPECTED_AUTHOR,
        Reason.NO_VERDICT,
        Reason.NEVER_CLEAR,
        Reason.ALIKE_AFTER_RESTORE,
        Reason.ISSUE_GONE,
        Reason.ISSUE_GIVEN_UP,
        Reason.ISSUE_IS_ANOTHERS,
        Reason.ID_GIVEN_AWAY,
        Reason.WENT_WITH_ISSUE,
    ),
    "KB-WORK-003": (
        Reason.GAVE_UP,
        Fault.TRACKER_REJECTED,
        Fault.OWN_FAULT,
        Detail.EDIT_CONFLICT,
        Detail.UNCLEAR_TOO_OFTEN,
        Detail.EXPLAINED_BY,
    ),
    "KB-WORK-005": (*Misattribution, Reason.TIME_LOGGED_AS_ANOTHER),
}
BY_CODE: Mapping[str, str] = {
    **{str(code): NOTHING_WRONG for code in Reason},
    **{str(code): record for record, codes in NAMED.items() for code in codes},
    **{str(code): record for code, record in OF_HINTS.items()},
}
