"""The articles that ship with deskbridge, to which the doctor's results and the hints refer."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from producer.admin.knowledge.article import Article, parse_article
from shared.errors import NotFound
from shared.notices.refusals import Refusal

RECORDS = files("producer.admin.knowledge") / "records"


def shipped(record_id: str) -> Article:
    """Return an article by its id.

    Raises:
        NotFound: if there is no article with that id.
    """
    if record_id not in _ids():
        raise NotFound(Refusal.RECORD_UNKNOWN(record=record_id))
    return _read(record_id)


@cache
def _ids() -> frozenset[str]:
    return frozenset(one.name.removesuffix(".md") for one in RECORDS.iterdir() if one.name.startswith("KB-"))


@cache
def _read(record_id: str) -> Article:
    return parse_article((RECORDS / f"{record_id}.md").read_text(encoding="utf-8"))
