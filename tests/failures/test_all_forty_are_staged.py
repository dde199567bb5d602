"""Forty failures that were looked at on a running deskbridge: each is staged by a test, or several.

A row names a test or, where a test stages many, the sentence of its failure, and the file beside this one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
DOCTOR, SURFACES, REACHED = "the_doctor_names_it", "every_surface_names_it", "how_others_are_reached"
ARRIVES, NAMES, STEPS = "what_arrives", "in_whose_name", "the_steps_of_records"
ANSWERS, HEALS = "the_tracker_answers_no_more", "one_step_heals_it"
LEFT, KEYS = "what_people_and_versions_leave", "an_activity_and_a_key"
NO_WRITES, HEADLINE = "a_database_that_takes_no_writes", "the_headline_cannot_lie"

STAGED: dict[int, tuple[str, tuple[str, str]]] = {
    1: ("certificate expired", (REACHED, "test_a_certificate_that_expired_is_named_with_its_date")),
    2: ("http is redirected to https", (ANSWERS, "the tracker has moved, and its old address redirects")),
    3: ("sub-path missing", (ANSWERS, "base_url lacks the path that the tracker is under")),
    4: ("host name gone", (REACHED, "test_a_name_that_is_gone_is_named")),
    5: (
        "a proxy answers 200 with a page to sign in",
        (ANSWERS, "a proxy answers every call with a page for signing in"),
    ),
    6: ("default priority inactive or deleted", (DOCTOR, "the default priority was switched off")),
    7: ("default watcher locked", (DOCTOR, "a default watcher was locked")),
    8: ("default category deleted", (DOCTOR, "a link's category was deleted")),
    9: (
        "two users with one e-mail",
        ("whose_address_it_is", "test_two_users_with_one_address_are_named_and_map_user_heals"),
    ),
    10: ("a role may not log time", (NAMES, "test_hours_in_another_name_say_which_of_the_causes_it_is")),
    11: (
        "future dates off",
        (ARRIVES, "test_a_day_that_the_tracker_refuses_fails_with_its_words_and_a_hint"),
    ),
    12: ("too many hours a day", (ARRIVES, "test_more_hours_than_a_day_takes_are_in_nobody_elses_name")),
    13: ("comments required", (STEPS, "the tracker wants a comment and the template sends none")),
    14: ("PostgreSQL read only", (NO_WRITES, "PostgreSQL was set to read only")),
    15: (
        "out of connections",
        (
            "../integration/test_doctor.py",
            "test_a_database_that_cannot_be_used_is_told_with_the_drivers_own_cause",
        ),
    ),
    16: (
        "a worker of other keys",
        (HEALS, "test_a_worker_of_other_keys_is_named_by_its_host_and_the_key_stays_stored"),
    ),
    17: (
        "migrations behind",
        (LEFT, "test_migrations_that_are_behind_are_named_by_every_command_and_process_and_migrate_heals"),
    ),
    18: ("RATE_LIMIT 0.01", (SURFACES, "RATE_LIMIT was meant as seconds and lets one call go in a hundred")),
    19: ("held for a day", ("../integration/test_doctor.py", "test_what_failed_or_is_held_is_counted")),
    20: (
        "secret on one side only",
        (SURFACES, "the secret was changed on one side, and no delivery was accepted"),
    ),
    21: ("disk full", (NO_WRITES, "SQLite's disk is full")),
    22: (
        "nobody may create in the status",
        (LEFT, "test_a_status_that_no_issue_may_be_created_in_is_given_by_a_second_call"),
    ),
    23: ("two installations", (SURFACES, "another installation uses the same Redis database")),
    24: (
        "token of a person who left",
        (LEFT, "test_what_a_person_who_left_can_still_come_in_with_is_named_and_revoked"),
    ),
    25: (
        "synchronisation fails",
        (LEFT, "test_a_project_that_the_tracker_fails_on_is_named_and_read_once_it_is_mended"),
    ),
    26: ("Redis password changed", (DOCTOR, "Redis was given a password")),
    27: ("allkeys-lru", (HEALS, "test_beside_evicted_signs_of_life_nobody_is_told_to_start_a_worker")),
    28: ("a worker's clock is off", (SURFACES, "a worker's clock is ten minutes ahead")),
    29: ("the tracker takes four seconds", (SURFACES, "the tracker takes four seconds for an answer")),
    30: (
        "the API key's owner is locked",
        (KEYS, "test_a_changed_key_and_a_locked_owner_cannot_be_told_apart_and_one_step_heals_both"),
    ),
    31: (
        "activity off everywhere",
        (KEYS, "test_an_activity_that_is_off_everywhere_has_the_one_step_that_heals"),
    ),
    32: ("custom field required", (DOCTOR, "a custom field of time entries was made required")),
    33: ("project closed", (DOCTOR, "a linked project was closed")),
    34: ("issue type removed", (ARRIVES, "test_an_issue_type_that_the_project_lacks_is_told")),
    35: ("nobody named", (NAMES, "test_what_names_nobody_is_counted_among_what_the_api_user_has")),
    36: (
        "status not allowed",
        ("a_status_that_is_not_taken", "test_a_status_that_no_role_may_set_is_failed"),
    ),
    37: ("a proxy strips the headers", (HEALS, "test_headers_that_a_proxy_took_away_are_called_that")),
    38: ("silence", (SURFACES, "nothing has come in for three days")),
    39: ("hours around midnight", (ARRIVES, "test_hours_are_on_the_day_of_the_work")),
    40: (
        "a person is deleted",
        (
            "a_person_who_was_deleted",
            "test_a_person_who_is_deleted_while_events_wait_is_called_deleted_and_map_user_heals",
        ),
    ),
}


def test_there_are_forty() -> None:
    assert list(STAGED) == list(range(1, 41))


@pytest.mark.parametrize("row", STAGED)
def test_each_is_staged_by_a_test_that_exists(row: int) -> None:
    _, test = STAGED[row]
    file = HERE / (test[0] if test[0].endswith(".py") else f"test_{test[0]}.py")
    text = file.read_text(encoding="utf-8")
    assert f"def {test[1]}" in text or f'"{test[1]}' in text, f"{file.name} stages no {test[1]}"
