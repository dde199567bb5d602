"""Storage of a reason: its code and its parameters, each in a column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from shared.notices.notice import Code, Notice, from_json, to_json
from shared.notices.render import sentence
from shared.store.tables.types import Json


class Explained:
    """Columns of a table whose rows have a reason."""

    code: Mapped[str | None] = mapped_column(String(64))
    params: Mapped[dict[str, Any] | None] = mapped_column(Json)

    @property
    def notice(self) -> Notice | None:
        """The reason, or None."""
        return reason_from_columns(self.code, self.params)

    def has_code(self, code: Code) -> bool:
        """Return whether the reason has a code."""
        return self.code == code

    @property
    def reason(self) -> str | None:
        """The reason in English, for people."""
        notice = self.notice
        return None if notice is None else sentence(notice)


def reason_from_columns(code: str | None, params: Mapping[str, Any] | None) -> Notice | None:
    """Return a reason from its two columns."""
    return None if code is None else Notice(code, from_json(params))


def reason_columns(reason: Notice | None, prefix: str = "") -> dict[str, Any]:
    """Return the values of a reason's two columns.

    Args:
        reason: the reason; None clears both columns.
        prefix: prefix of the columns' names.
    """
    code = None if reason is None else str(reason.code)
    params = None if reason is None else to_json(reason.params)
    return {f"{prefix}code": code, f"{prefix}params": params}
