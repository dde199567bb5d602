"""Everything that shows codes can show every code: tables, pages, `--json`, API problems, log lines, the doctor."""

from __future__ import annotations

import json
from collections.abc import Callable
from gettext import GNUTranslations

import pytest

from producer.admin.doctor.finding import failure, finding_json
from producer.admin.presenters.shapes import failure_json, reason_json, warnings_json
from producer.cli.output import plain
from producer.console.rendering.view import _said, _why
from producer.http.problems import Problem
from shared.notices.access import AccessRefusal
from shared.notices.invalid import Invalid, faults_in, faulty
from shared.notices.language import speaking
from shared.notices.notice import Notice, from_json, to_json
from shared.notices.refusals import Refusal
from shared.notices.render import because, sentence
from shared.telemetry.logs import log_fields, reason_fields
from tests.support.catalogue import FOLDER
from tests.unit.codes.test_sentences import CODES, params_for


def as_json(shape: object) -> str:
    return json.dumps(shape, default=lambda one: one.printed())


RENDERERS: dict[str, Callable[[Notice], str]] = {
    "table": lambda notice: plain(sentence(notice)),
    "page": lambda notice: str(_said(notice)),
    "page, why": lambda notice: str(_why(notice)),
    "--json": lambda notice: as_json(reason_json(notice)),
    "--json of a failure": lambda notice: as_json(failure_json(notice)),
    "--json of a warning": lambda notice: as_json(warnings_json([notice])),
    "API": lambda notice: str(
        Problem(409, "Not possible", why=notice, faults=[("", notice)]).response().body, "utf-8"
    ),
    "log": lambda notice: as_json(log_fields(notice)),
    "log, reason": lambda notice: as_json(reason_fields(notice)),
    "doctor": lambda notice: as_json(finding_json(failure("tracker", notice))),
}


@pytest.mark.parametrize("name", RENDERERS)
def test_every_code_is_shown(name: str) -> None:
    for code in CODES:
        for optional in (True, False):
            notice = code(**params_for(code, optional=optional))
            shown = RENDERERS[name](notice)
            assert f"{code} (" not in shown, "its parameters do not fit its sentence"
            if shown.startswith("{"):
                assert f'"{code}"' in shown, "programs read the code"


def test_every_code_is_said_in_french() -> None:
    with (FOLDER / "fr" / "deskbridge.mo").open("rb") as file, speaking(GNUTranslations(file)):
        for code in CODES:
            for optional in (True, False):
                notice = code(**params_for(code, optional=optional))
                for said in (sentence(notice), because(notice)):
                    assert not set("{}[]") & set(said), said
                    assert not said.startswith(f"{code} ("), said


def test_a_log_line_is_english_whoever_it_is_logged_for() -> None:
    with (FOLDER / "fr" / "deskbridge.mo").open("rb") as file, speaking(GNUTranslations(file)):
        assert (
            sentence(AccessRefusal.SIGN_IN_BUSY()) != "too many people are signing in: try again in a moment"
        )
        assert (
            reason_fields(AccessRefusal.SIGN_IN_BUSY())["reason"]
            == "too many people are signing in: try again in a moment"
        )
        assert (
            log_fields(AccessRefusal.SIGN_IN_BUSY())["event"]
            == "too many people are signing in: try again in a moment"
        )


def test_every_code_comes_back_from_where_it_is_stored() -> None:
    for code in CODES:
        notice = Notice(str(code), params_for(code, optional=True))
        assert Notice(notice.code, from_json(json.loads(json.dumps(to_json(notice.params))))) == notice


def test_faults_are_found_by_their_fields_also_where_they_were_stored() -> None:
    faults = [("name", Invalid.FIELD_REQUIRED()), ("", Invalid.NO_REASON_FROM_TRACKER())]
    refused = faulty(Refusal.FORM_NOT_VALID, faults)
    assert sentence(refused) == "name: required; Redmine rejected it without a reason"
    assert faults_in(refused) == faults
    assert faults_in(Notice(refused.code, from_json(to_json(refused.params)))) == faults
    assert faults_in(Refusal.API_KEY_EMPTY(field="api_key")) == [
        ("api_key", Refusal.API_KEY_EMPTY(field="api_key"))
    ]
    assert faults_in(AccessRefusal.SIGN_IN_BUSY()) == []
