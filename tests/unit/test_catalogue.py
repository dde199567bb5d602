"""The French catalogue has every text of the pages, with its placeholders, and its compiled form is up to date."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from gettext import GNUTranslations
from typing import Any

import pytest

from producer.admin.presenters.moments import when
from producer.console.rendering.view import _exact, _many
from shared.notices.language import speaking
from shared.notices.notice import Plural
from shared.notices.template import names
from tests.support import catalogue

PLACEHOLDER = re.compile(r"%\((\w+)\)")


@pytest.mark.parametrize("language", ["fr"])
def test_a_catalogue_has_every_text_and_every_placeholder(language: str) -> None:
    kept = catalogue.read(language)
    entries = {one.id: one for one in kept if one.id}
    wanted = catalogue.texts()
    assert {str(one[0] if isinstance(one, tuple) else one) for one in entries} == {
        str(one[0] if isinstance(one, tuple) else one) for one in wanted
    }
    assert [one.id for one in entries.values() if one.fuzzy] == []
    for text, entry in entries.items():
        mine, english = _forms(entry.string), _forms(text)
        assert all(mine), text
        for one, other in zip(english, mine, strict=True):
            assert sorted(PLACEHOLDER.findall(one)) == sorted(PLACEHOLDER.findall(other)), one
        if not any("%(" in one for one in english):
            assert names(_sentence(mine)) == names(_sentence(english)), text


def _forms(text: Any) -> list[str]:
    return list(text) if isinstance(text, (tuple, list)) else [text or ""]


def _sentence(forms: list[str]) -> str | Plural:
    return Plural(*forms) if len(forms) == 2 else forms[0]


@pytest.mark.parametrize("language", ["fr"])
def test_what_is_compiled_is_what_is_written(language: str) -> None:
    kept = (catalogue.FOLDER / language / "deskbridge.mo").read_bytes()
    assert kept == catalogue.compiled(catalogue.read(language)), "run `make messages`"


def test_dates_and_numbers_are_written_as_in_french() -> None:
    with speaking(french()):
        assert _exact(datetime(2026, 11, 5, 14, 30, 9, tzinfo=UTC)) == "05/11/2026 14:30:09 UTC"
        assert when(datetime(2026, 1, 5, 14, 30, tzinfo=UTC)) == "05/01/2026 14:30"
        assert _many(1000) == "1\u202f000"
    assert _many(1000) == "1,000"


def french() -> GNUTranslations:
    with (catalogue.FOLDER / "fr" / "deskbridge.mo").open("rb") as file:
        return GNUTranslations(file)
