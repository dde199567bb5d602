"""Codes of what is wrong with a value: of an event, a form, a setting, a line of a file."""

from __future__ import annotations

from collections.abc import Iterable

from shared.codes.notice import Code, Notice


class Invalid(Code):
    """What was expected of a value."""

    FAULT_OF_FIELD = "fault_of_field"
    FAULT_ON_LINE = "fault_on_line"
    FAULT_OF_EVENT = "fault_of_event"

    FIELD_REQUIRED = "field_required"
    FIELD_UNKNOWN = "field_unknown"
    WHOLE_NUMBER_EXPECTED = "whole_number_expected"
    SMALLER_NUMBER_EXPECTED = "smaller_number_expected"
    NUMBER_EXPECTED = "number_expected"
    NUMBER_TOO_SMALL = "number_too_small"
    NUMBER_NOT_ABOVE = "number_not_above"
    NUMBER_TOO_LARGE = "number_too_large"
    NUMBER_NOT_BELOW = "number_not_below"
    NUMBER_OUT_OF_RANGE = "number_out_of_range"
    TRUTH_EXPECTED = "truth_expected"
    TEXT_EXPECTED = "text_expected"
    TEXT_TOO_SHORT = "text_too_short"
    TEXT_TOO_LONG = "text_too_long"
    TEXT_LENGTH_WRONG = "text_length_wrong"
    TEXT_NOT_STORABLE = "text_not_storable"
    TEXT_OF_FORM = "text_of_form"
    TOO_MANY_BYTES = "too_many_bytes"
    OBJECT_EXPECTED = "object_expected"
    JSON_EXPECTED = "json_expected"
    JSON_FAULTY = "json_faulty"
    JSON_OBJECT_EXPECTED = "json_object_expected"
    LIST_EXPECTED = "list_expected"
    LIST_TOO_SHORT = "list_too_short"
    LIST_TOO_LONG = "list_too_long"
    NESTED_TOO_DEEP = "nested_too_deep"
    CHOICE_EXPECTED = "choice_expected"
    TIME_EXPECTED = "time_expected"
    TIME_WITHOUT_ZONE = "time_without_zone"
    TIME_WITHOUT_OFFSET = "time_without_offset"
    TIME_IN_MILLISECONDS = "time_in_milliseconds"
    TIME_IN_SECONDS = "time_in_seconds"
    DAY_EXPECTED = "day_expected"
    NETWORK_EXPECTED = "network_expected"
    KEY_NOT_AS_EXPECTED = "key_not_as_expected"
    VALUE_REFUSED = "value_refused"
    NOT_AS_EXPECTED = "not_as_expected"

    TASK_REQUIRED = "task_required"
    DELIVERY_ID_EXPECTED = "delivery_id_expected"
    EVENT_COUNT_WRONG = "event_count_wrong"

    WEB_ADDRESS_EXPECTED = "web_address_expected"
    TRACKER_ADDRESS_EXPECTED = "tracker_address_expected"
    ADDRESS_NOT_PRINTABLE = "address_not_printable"
    ADDRESS_WITH_MORE = "address_with_more"
    ADDRESS_NEEDED = "address_needed"
    ADDRESS_FORBIDDEN_HERE = "address_forbidden_here"
    LINK_LOCAL_ADDRESS = "link_local_address"
    METADATA_SERVICE = "metadata_service"
    KEY_NEEDED = "key_needed"
    KEY_NEEDED_ELSEWHERE = "key_needed_elsewhere"
    KEY_NEEDED_UNVERIFIED = "key_needed_unverified"

    IDENTIFIER_IN_USE = "identifier_in_use"
    NO_REASON_FROM_TRACKER = "no_reason_from_tracker"
    NO_REASON_TOLD = "no_reason_told"
    TEMPLATE_NAME_TAKEN = "template_name_taken"
    TEMPLATE_OF_ANOTHER = "template_of_another"
    PROJECT_NOT_CHOSEN = "project_not_chosen"

    ROLES_EXPECTED = "roles_expected"
    FERNET_KEY_EXPECTED = "fernet_key_expected"
    TOKEN_TOO_SHORT = "token_too_short"  # noqa: S105 (a code)
    NETWORK_OF_EVERYBODY = "network_of_everybody"
    CERTIFICATES_EXPECTED = "certificates_expected"
    PROXY_EXPECTED = "proxy_expected"
    HOST_AND_PORT_EXPECTED = "host_and_port_expected"
    ORIGIN_EXPECTED = "origin_expected"
    DATABASE_URL_EXPECTED = "database_url_expected"
    REDIS_URL_EXPECTED = "redis_url_expected"
    SENTINELS_EXPECTED = "sentinels_expected"
    LEASES_REVERSED = "leases_reversed"
    ISSUER_EXPECTED = "issuer_expected"
    SETTINGS_INCOMPLETE = "settings_incomplete"


class Unimported(Code):
    """Why a line of a file of links is not imported."""

    COLUMN_NOT_OURS = "column_not_ours"
    COLUMN_NOT_NAMED = "column_not_named"
    COLUMN_NOT_THERE = "column_not_there"
    COLUMNS_MISSING = "columns_missing"
    NOT_CSV = "not_csv"
    OTHER_TRACKERS_LINE = "other_trackers_line"
    KIND_EXPECTED = "kind_expected"
    ID_EXPECTED = "id_expected"
    CELLS_MISSING = "cells_missing"
    TWICE_IN_FILE = "twice_in_file"
    LINKED_TO_ANOTHER = "linked_to_another"
    MAPPED_TO_ANOTHER = "mapped_to_another"
    CREATED_AS_ANOTHER = "created_as_another"
    UNDECIDED_HERE = "undecided_here"
    OBJECT_OF_ANOTHER = "object_of_another"
    BEGUN_MEANWHILE = "begun_meanwhile"
    SOMETHING_LINKED_MEANWHILE = "something_linked_meanwhile"


Faults = list[tuple[str, Notice]]
"""One entry for each fault: the field that it is in, empty where it is the whole; and what is wrong with it."""


def faulty(code: Code, faults: Iterable[tuple[str, Notice]]) -> Notice:
    """Return a refusal that tells every fault by its field."""
    return code(
        faults=[Invalid.FAULT_OF_FIELD(field=field or None, problem=problem) for field, problem in faults]
    )


def faults_in(refused: Notice) -> Faults:
    """Return the faults that a refusal tells by their fields; of one that is about a single field that one."""
    if "faults" not in refused.params:
        field = refused.params.get("field")
        return [(field, refused)] if field else []
    return [
        (one.params.get("field") or "", one.params["problem"])
        for one in refused.params["faults"]
        if isinstance(one, Notice) and one.code == Invalid.FAULT_OF_FIELD
    ]
