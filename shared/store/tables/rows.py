"""Many values that a statement is given as one parameter: so it stays the same, however many they are.

Rows come as JSON, which both databases read as a table. Nothing of it is interpreted: each value is bound as its
column's type binds it, and the database casts it to that type. How many there are is a second parameter: PostgreSQL
takes it for a hundred else, for which it reads a table of some thousand rows from end to end rather than by an index.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, Self

from pydantic import TypeAdapter
from sqlalchemy import (
    JSON,
    Boolean,
    ColumnElement,
    Dialect,
    FromClause,
    Integer,
    Text,
    bindparam,
    cast,
    column,
    func,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import InstrumentedAttribute, Session
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.types import TypeDecorator, TypeEngine

NAME, COUNT = "given", "given_count"
ROWS = TypeAdapter(list[dict[str, Any]])


class Rows:
    """Some rows.

    Args:
        columns: the type of each of their columns, by name.
    """

    def __init__(self, columns: Mapping[str, TypeEngine[Any]]) -> None:
        self._columns = dict(columns)
        self._bind = {
            name: kind.process_bind_param
            for name, kind in self._columns.items()
            if isinstance(kind, TypeDecorator)
        }

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
        count = bindparam(COUNT, type_=Integer)
        # said twice, since who plans a statement before it is known takes it for a tenth: so one row, not ten
        return select(values.limit(count).subquery()).limit(count).subquery(NAME)

    def parameters(self, session: Session, rows: Iterable[dict[str, Any]]) -> dict[str, str | int]:
        """Return the parameters with some rows."""
        dialect, binds = session.get_bind().dialect, self._bind.items()
        bound = [row | {name: bind(row[name], dialect) for name, bind in binds} for row in rows]
        encoded = (
            ROWS.dump_json(bound).decode()
            if dialect.name == "postgresql"
            else json.dumps(bound, default=_moment)
        )
        return {NAME: encoded, COUNT: len(bound)}


class among(GenericFunction[bool]):  # noqa: N801  (a SQL function)
    """Whether a column's value is one of those of a parameter, which is a list of them.

    Args:
        values: the column.
        name: the parameter's.
    """

    type = Boolean()
    inherit_cache = True

    def __init__(self, values: ColumnElement[Any] | InstrumentedAttribute[Any], name: str) -> None:
        super().__init__(values, bindparam(name, type_=_List()))

    def self_group(self, against: Any = None) -> Self:  # noqa: ARG002
        """Stand by itself as a condition: SQLite would be asked for `… IN (…) = 1`, for which it uses no index."""
        return self


class _List(TypeDecorator[Collection[Any]]):
    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Collection[Any] | None, dialect: Dialect) -> Any:
        every = list(value or ())
        return every if dialect.name == "postgresql" else json.dumps(every)


@compiles(among, "postgresql")
def _among_postgresql(element: among, compiler: SQLCompiler, **kw: Any) -> str:
    values, parameter = element.clauses
    kind = compiler.dialect.type_compiler_instance.process(values.type)
    return f"{compiler.process(values, **kw)} = ANY (CAST({compiler.process(parameter, **kw)} AS {kind}[]))"


@compiles(among, "sqlite")
def _among_sqlite(element: among, compiler: SQLCompiler, **kw: Any) -> str:
    values, parameter = (compiler.process(one, **kw) for one in element.clauses)
    return f"{values} IN (SELECT value FROM json_each({parameter}))"  # noqa: S608 (a column and a parameter)


def _moment(value: datetime) -> str:
    """Return a time as SQLite has it; JSON has none."""
    return value.strftime("%Y-%m-%d %H:%M:%S.%f")
