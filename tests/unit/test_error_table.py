"""One table defines the effect of every class of the error tree on a ticket sync."""

from __future__ import annotations

from typing import Any

import pytest

from shared import errors
from shared.errors import BridgeError, SettingsError, TrackerBusy, TrackerError, TrackerOutage
from worker.ticket.error_table import TABLE, Events, Row, effect_of

CLASSES = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, BridgeError)]


def made(error: type[TrackerError], method: str = "POST") -> TrackerError:
    given: dict[str, Any] = {"status": 503, "retry_after": None} if error is TrackerBusy else {}
    return error(method, "/issues.json", **given)


def test_each_error_has_a_row_of_its_own() -> None:
    assert {one.__name__ for one in CLASSES} == {one.__name__ for one in TABLE}


@pytest.mark.parametrize("error", [one for one in CLASSES if issubclass(one, TrackerError)])
def test_an_error_is_found_by_its_own_class(error: type[TrackerError]) -> None:
    assert effect_of(made(error)) is TABLE[error]


def test_an_error_without_a_row_counts_as_the_nearest_class_above_it() -> None:
    class Away(errors.TrackerAway):
        """A subclass without its own row."""

    assert effect_of(made(Away)) is TABLE[errors.TrackerAway]


@pytest.mark.parametrize("error", CLASSES)
def test_the_breaker_is_opened_by_the_errors_that_the_table_names(error: type[BridgeError]) -> None:
    assert TABLE[error].opens_breaker is issubclass(error, (TrackerOutage, SettingsError))


@pytest.mark.parametrize("error", [one for one in CLASSES if issubclass(one, TrackerOutage)])
def test_events_wait_and_the_row_is_in_doubt_only_after_an_outage_that_may_have_acted(
    error: type[TrackerOutage],
) -> None:
    outage = made(error)
    assert isinstance(outage, TrackerOutage)
    assert (TABLE[error].events is Events.STAY_OR_WAIT) is outage.may_have_acted
    assert (TABLE[error].row is Row.FREE_OR_IN_DOUBT) is outage.may_have_acted
