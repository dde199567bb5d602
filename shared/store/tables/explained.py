"""How a reason is kept: its code and parameters, and the code again in the old column of sentences (decision 0016).

A version before codes, running beside this one, writes sentences into that column and knows nothing of the others. So
the code counts only as long as both columns say it; else the sentence is the newer one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, String, and_, func, or_
from sqlalchemy.orm import InstrumentedAttribute, Mapped, mapped_column

from shared.notices.notice import Code, Notice, from_json, to_json, written
from shared.notices.reasons import Reason
from shared.notices.render import sentence
from shared.store.tables.types import Json, Words

SENTENCES_OF_BEFORE: Mapping[str, Reason] = {
    (
        "a backup was restored, and the tracker has one made since that is alike in part: "
        "it may be this one, edited, or another's that was not sent again yet"
    ): Reason.ALIKE_AFTER_RESTORE,
    (
        "neither the ticket's helpdesk project nor its entity is linked to a tracker project "
        "(link one with `deskbridge link`, then replay)"
    ): Reason.NO_LINK,
}
"""What the version before codes wrote where code acts on the reason. Never changed, whatever sentences say today."""


class Explained:
    """Columns of a table whose rows have a reason."""

    reason_text: Mapped[str | None] = mapped_column("reason", Words)
    code: Mapped[str | None] = mapped_column(String(64))
    params: Mapped[dict[str, Any] | None] = mapped_column(Json)

    @property
    def notice(self) -> Notice | None:
        """The reason; None if there is none."""
        return kept(self.reason_text, self.code, self.params)

    def has_code(self, code: Code) -> bool:
        """Return whether the reason has a code."""
        notice = self.notice
        return notice is not None and notice.code == code

    @property
    def reason(self) -> str | None:
        """The reason in English, for people."""
        notice = self.notice
        return None if notice is None else sentence(notice)


def kept(text: str | None, code: str | None, params: Mapping[str, Any] | None) -> Notice | None:
    """Return a reason from its three columns."""
    if text is None:
        return None
    if text == code:
        return Notice(code, from_json(params))
    known = SENTENCES_OF_BEFORE.get(text)
    return known() if known else written(text)


def keeping(reason: Notice | None, prefix: str = "") -> dict[str, Any]:
    """Return the values of a reason's three columns.

    Args:
        reason: None: there is none.
        prefix: of the columns' names.
    """
    code = None if reason is None else str(reason.code)
    params = None if reason is None else to_json(reason.params)
    return {f"{prefix}reason": code, f"{prefix}code": code, f"{prefix}params": params}


def is_for(model: type[Explained], code: Code | str) -> ColumnElement[bool]:
    """Match the rows whose reason has a code, those included that the version before codes wrote."""
    return model.reason_text.in_(texts_of(code))


def texts_of(code: Code | str) -> list[str]:
    """Return what tells of a code in a column of reasons: itself, and what the version before codes wrote."""
    return [str(code), *(text for text, known in SENTENCES_OF_BEFORE.items() if known == code)]


def is_sentence(
    text: InstrumentedAttribute[str | None], code: InstrumentedAttribute[str | None]
) -> ColumnElement[bool]:
    """Match the rows that have a reason which the version before codes wrote."""
    return and_(text.is_not(None), or_(code.is_(None), func.coalesce(code, "") != text))
