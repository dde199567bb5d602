"""Explains a refusal from the payload and the cache alone, because the tracker's own messages are localised."""

from __future__ import annotations

from typing import Any

from shared.notices.hints import IDENTIFIER, IGNORED, Hint
from shared.refusals import issue_hints, other_hints
from shared.refusals.custom_field_hints import given_values, place, rule_for
from shared.refusals.judging import Rule, as_integer, blank
from shared.refusals.known import Explanation, KnownMetadata
from shared.templating.operations import Operation

RULES: dict[Operation, tuple[Rule, ...]] = {
    Operation.ISSUE_CREATE: (*issue_hints.CREATION, rule_for("issue")),
    Operation.ISSUE_UPDATE_STATUS: issue_hints.UPDATE,
    Operation.NOTE_CREATE: issue_hints.NOTE,
    Operation.TIME_ENTRY_CREATE: (*other_hints.TIME_ENTRY, rule_for("time_entry")),
    Operation.PROJECT_CREATE: (*other_hints.PROJECT, rule_for("project")),
    Operation.MEMBERSHIP_CREATE: other_hints.MEMBERSHIP_RULES,
}
GUESSES: dict[Operation, Rule] = {
    Operation.ISSUE_CREATE: issue_hints.guesses,
    Operation.TIME_ENTRY_CREATE: other_hints.time_guesses,
    Operation.PROJECT_CREATE: other_hints.project_guesses,
    Operation.MEMBERSHIP_CREATE: other_hints.member_guesses,
}
REFERENCES = ("tracker_id", "status_id", "priority_id", "category_id", "assigned_to_id", "activity_id")


def hints(operation: Operation, payload: dict[str, Any], known: KnownMetadata) -> list[Explanation]:
    """Return the parts of a payload that the tracker refuses or silently ignores, as far as the cache shows.

    Args:
        operation: the operation of the payload.
        payload: the request body.
        known: the cache, of the payload's project.
    """
    fields = payload.get(operation.top_key)
    if not isinstance(fields, dict):
        return []
    return [hint for rule in RULES[operation] for hint in rule(fields, known)]


def explain(
    operation: Operation, payload: dict[str, Any], known: KnownMetadata, status: int, *, said: bool = False
) -> list[Explanation]:
    """Return the explanations of an answer.

    Args:
        operation: the operation of the payload.
        payload: the request body, without a dry run's mark.
        known: the cache, of the payload's project.
        status: the answer's HTTP status. For a success: what the tracker ignores, or never received because a dry run
            replaces it. For a 422 without an explanation: guesses, whose codes begin with `maybe_`.
        said: whether the tracker itself gave a reason; if so, guesses are returned only if they were checked.
    """
    found = hints(operation, payload, known)
    if status < 300:
        return [one for one in found if one.record in (IGNORED, IDENTIFIER)]
    if status != 422 or any(one.record != IGNORED for one in found):
        return found
    fields, guess = payload.get(operation.top_key), GUESSES.get(operation)
    guessed = list(guess(fields, known)) if guess is not None and isinstance(fields, dict) else []
    if said:
        return [*found, *(one for one in guessed if one.checked)]
    return [*found, *(guessed or [Explanation("", Hint.NO_REASON_GIVEN())])]


def ignored(operation: Operation, payload: dict[str, Any], answer: Any) -> list[Explanation]:
    """Return the fields of the object in an answer that differ from the request.

    Args:
        operation: the operation of the payload.
        payload: the request body.
        answer: the answer's JSON; the result is empty if it does not contain the object.
    """
    top = operation.top_key
    sent, made = payload.get(top), answer.get(top) if isinstance(answer, dict) else None
    if not isinstance(sent, dict) or not isinstance(made, dict):
        return []
    found = []
    for name in REFERENCES:
        got = made.get(name.removesuffix("_id"))
        got_id = got.get("id") if isinstance(got, dict) else None
        if got_id is not None and not blank(sent.get(name)) and as_integer(sent[name]) != got_id:
            used = got.get("name") if isinstance(got, dict) else None
            why = Hint.REFERENCE_REPLACED(sent=sent[name], used=got_id, name=used)
            found.append(Explanation(f"{top}.{name}", why))
    rows = made.get("custom_fields")
    if isinstance(rows, list):
        there = {row.get("id") for row in rows if isinstance(row, dict)}
        for field_id in sorted(given_values(sent).keys() - there):
            why = Hint.CUSTOM_FIELD_IGNORED(field_id=field_id)
            found.append(Explanation(place(top, field_id), why))
    return found
