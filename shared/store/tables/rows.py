"""Rows of values that a statement is given as one parameter: so it stays the same, however many they are.

As JSON, which both databases read as a table. Nothing of it is interpreted: each value is bound as its column's type
binds it, and the database casts it to that type. How many there are is a second parameter: PostgreSQL takes it for a
hundred else, for which it reads a table of some thousand rows from end to end rather than by an index.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Dialect, FromClause, Integer, Text, bindparam, cast, column, func, select
from sqlalchemy.orm import Session
from sqlalchemy.types import TypeDecorator, TypeEngine

NAME, COUNT = "given", "given_count"


class Rows:
    """Some rows.

    Args:
        columns: the type of each of their columns, by name.
    """

    def __init__(self, columns: Mapping[str, TypeEngine[Any]]) -> None:
        self._columns = dict(columns)

    def table(self, *, postgresql: bool) -> FromClause:
        """Return the rows as a table of a statement."""
        parameter = bindparam(NAME, type_=Text)
        if postgresql:
            typed = (column(name, kind) for name, kind in self._columns.items())
            recordset = func.json_to_recordset(cast(parameter, JSON)).table_valued(*typed)
            values = select(recordset.render_derived(with_types=True))
        else:
            each = func.json_each(parameter).table_valued("value")
            values = select(
                *(
                    func.json_extract(each.c.value, f"$.{name}", type_=kind).label(name)
                    for name, kind in self._columns.items()
                )
            )
        return values.limit(bindparam(COUNT, type_=Integer)).subquery(NAME)

    def parameters(self, session: Session, rows: Iterable[Mapping[str, Any]]) -> dict[str, str | int]:
        """Return the parameters with some rows."""
        dialect = session.get_bind().dialect
        bound = [
            {name: _bound(kind, row[name], dialect) for name, kind in self._columns.items()} for row in rows
        ]
        return {NAME: json.dumps(bound), COUNT: len(bound)}


def _bound(kind: TypeEngine[Any], value: Any, dialect: Dialect) -> Any:
    if isinstance(kind, TypeDecorator):
        value = kind.process_bind_param(value, dialect)
    if isinstance(value, datetime):
        return value.isoformat() if dialect.name == "postgresql" else value.strftime("%Y-%m-%d %H:%M:%S.%f")
    return value
