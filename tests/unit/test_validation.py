"""Validation faults name the expected value in deskbridge's own words, never in a library's."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError, field_validator
from typer.testing import CliRunner

from producer.admin.knowledge.article import Metadata
from producer.admin.projects.project_forms import ProjectForm
from producer.cli.main import app
from producer.helpdesks.glpi.events import _TaskBody, _TicketBody
from shared.events.config import PluginConfig
from shared.events.event import Event
from shared.notices.invalid import Invalid
from shared.notices.render import sentence
from shared.process.settings import Settings
from shared.values.validation import model_faults

MODELS: tuple[type[BaseModel], ...] = (
    PluginConfig,
    Event,
    ProjectForm,
    Metadata,
    Settings,
    _TaskBody,
    _TicketBody,
)
VALUES: tuple[Any, ...] = (
    None, "x", "", 1.5, -1, 10**30, 10**5000, [], {}, True, float("nan"), "x" * 200_000, ["x"], {"a": 1}, {"a": "b"},
    [{}], [[1]], "2026", "2026-11-21T09:30:00", object(), "\ud800", b"x", [1] * 1000,
)  # fmt: skip
THEIRS = (
    "Input should",
    "valid",
    "Value error",
    "unable to",
    "got ",
    "parse",
    "item",
    "None",
    "pydantic",
    "not as",
)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_no_fault_of_any_input_is_told_in_a_librarys_words(model: type[BaseModel]) -> None:
    told = set()
    for given in [*({name: value} for name in model.model_fields for value in VALUES), 5, {"nonsense": 1}]:
        try:
            model.model_validate(given)
        except ValidationError as error:
            told |= {sentence(problem) for _, problem in model_faults(error)}
    assert told
    assert {words for words in told if any(their in words for their in THEIRS)} == set()


@pytest.mark.parametrize(
    ("name", "value", "faults"),
    [
        ("default_role_id", "abc", [("default_role_id", "expected a whole number")]),
        ("default_role_id", 1.5, [("default_role_id", "expected a whole number")]),
        ("default_role_id", 0, [("default_role_id", "must be 1 or more")]),
        ("default_watcher_ids", "abc", [("default_watcher_ids", "expected a list")]),
        ("status_map", {"a": 1}, [("status_map.a", "expected a whole number before the colon")]),
        ("status_map", {"1": "a"}, [("status_map.1", "expected a whole number")]),
        ("in_doubt_policy", "x", [("in_doubt_policy", "expected one of lookup, hold")]),
        ("verify_tls", "maybe", [("verify_tls", "expected true or false")]),
        ("nonsense", 1, [("nonsense", "unknown field")]),
    ],
)
def test_what_was_expected_is_named(name: str, value: object, faults: list[tuple[str, str]]) -> None:
    with pytest.raises(ValidationError) as error:
        PluginConfig.model_validate({name: value})
    assert [(path, sentence(problem)) for path, problem in model_faults(error.value)] == faults


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (("mapping", "add", "entity", "abc", "12"), "Invalid value for 'ID': expected a whole number"),
        (("event", "list", "--ticket", "1.5"), "Invalid value for '--ticket': expected a whole number"),
        (("ticket", "history", "0"), "Invalid value for 'TICKET_ID': must be 1 or more"),
        (("producer", "--port", "99999"), "Invalid value for '--port': must be 65535 or less"),
        (("event", "replay", "1", "x"), "Invalid value for 'EVENT_ID': expected a whole number"),
        (("event", "list", "--state", "bogus"), "'bogus' is not one of 'pending'"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_a_wrong_argument_is_told_what_was_expected(typed: tuple[str, ...], told: str, as_json: bool) -> None:
    if as_json and typed[0] != "producer":
        typed = (*typed, "--json")
    result = CliRunner().invoke(app, list(typed))
    assert result.exit_code == 2
    shown = " ".join((result.stdout + result.stderr).replace("│", " ").split())
    assert told in shown
    assert not any(their in shown for their in ("Input should", "Value error", "unable to"))


def test_choices_are_a_list() -> None:
    with pytest.raises(ValidationError) as error:
        PluginConfig.model_validate({"membership_for": "everybody"})
    expected = Invalid.CHOICE_EXPECTED(choices=["matched", "confirmed", "nobody"])
    assert model_faults(error.value) == [("membership_for", expected)]


class Careless(BaseModel):
    """A model whose validator quotes its input."""

    word: str

    @field_validator("word")
    @classmethod
    def _refuse(cls, value: str) -> str:
        raise ValueError(f"not {value}")


def test_what_a_validator_of_somebody_else_says_may_quote_a_secret_and_is_not_kept() -> None:
    with pytest.raises(ValidationError) as error:
        Careless(word="hidden-word")
    assert model_faults(error.value) == [("word", Invalid.VALUE_REFUSED())]
    assert sentence(Invalid.VALUE_REFUSED()) == "this value is not allowed"
    assert sentence(Invalid.VALUE_REFUSED(error="as before")) == "this value is not allowed: as before"
