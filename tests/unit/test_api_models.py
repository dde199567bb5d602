"""The API's models have what is shown of things, and nothing else: what is new in one is new in the other."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from pydantic import BaseModel

from producer.admin.dryrun import results
from producer.admin.looking import story
from producer.admin.people import people
from producer.admin.showing import shapes
from producer.admin.templates import preview, templates
from producer.console.api import models

NOTICE = {"code", "params"}


@pytest.mark.parametrize(
    ("model", "shown", "more", "less"),
    [
        (models.IssueOfTicket, story.IssueLink, {*NOTICE, "reason"}, {"notice"}),
        (models.TicketTask, story.TaskStanding, {*NOTICE, "reason"}, {"notice"}),
        (models.HelpdeskUser, people.Mapped, {*NOTICE, "why"}, {"match"}),
        (models.Template, templates.Described, set(), set()),
        (models.DryRun, results.DryRun, {"cautions"}, set()),
        (models.Left, results.Left, {*NOTICE, "reason"}, {"why"}),
        (models.Preview, preview.Preview, {"cautions"}, set()),
    ],
)
def test_a_model_has_the_fields_of_what_it_shows(
    model: type[BaseModel], shown: Any, more: set[str], less: set[str]
) -> None:
    assert set(model.model_fields) == {one.name for one in fields(shown)} - less | more


def test_events_and_runs_are_shown_as_the_command_line_does() -> None:
    assert set(models.Event.model_fields) == {*shapes.EVENT, *shapes.TIMES, *NOTICE, "reason"}
    assert set(models.Synchronisation.model_fields) == {*shapes.RUN, *NOTICE, "error"}
