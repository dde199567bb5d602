"""SQL functions, and parameters that hold many values, alike on SQLite and PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, Self

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    ColumnElement,
    Dialect,
    FromClause,
    Integer,
    Text,
    bindparam,
    column,
    literal_column,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import InstrumentedAttribute, Session
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement, GenericFunction
from sqlalchemy.types import TypeDecorator, TypeEngine

GIVEN, COUNT = "given", "given_count"


class size_of(GenericFunction[int]):  # noqa: N801  (a SQL function)
    """Size of a text in bytes; PostgreSQL returns it without reading the text."""

    type = BigInteger()
    inherit_cache = True


@compiles(size_of, "postgresql")
def _size_postgresql(element: size_of, compiler: SQLCompiler, **kw: Any) -> str:
    return f"octet_length({compiler.process(element.clauses, **kw)})"


@compiles(size_of, "sqlite")
def _size_sqlite(element: size_of, compiler: SQLCompiler, **kw: Any) -> str:
    return f"length(CAST({compiler.process(element.clauses, **kw)} AS BLOB))"


class number_in(GenericFunction[int]):  # noqa: N801  (a SQL function)
    """A number in a JSON object stored as text, by its name."""

    type = BigInteger()
    inherit_cache = True


@compiles(number_in, "postgresql")
def _number_postgresql(element: number_in, compiler: SQLCompiler, **kw: Any) -> str:
    column, name = element.clauses
    return f"(CAST({compiler.process(column, **kw)} AS json) ->> {compiler.process(name, **kw)})::bigint"


@compiles(number_in, "sqlite")
def _number_sqlite(element: number_in, compiler: SQLCompiler, **kw: Any) -> str:
    column, name = element.clauses
    return f"json_extract({compiler.process(column, **kw)}, '$.' || {compiler.process(name, **kw)})"


def unindexed(column: ColumnElement[str] | InstrumentedAttribute[str]) -> ColumnElement[str]:
    """Return a text column as an expression for which no index is used.

    PostgreSQL plans with its last statistics. If a value has become frequent since, such as pending events in an hour
    without the tracker, it would read all rows with that value to find a ticket's, and again for each event.

    Args:
        column: a column that excludes few of the rows that another condition finds.
    """
    return column.concat(literal_column("''"))


class among(GenericFunction[bool]):  # noqa: N801  (a SQL function)
    """Whether a column's value is in a list parameter; the statement's text is the same for any number of values.

    Args:
        values: the column.
        name: the parameter's name.
    """

    type = Boolean()
    inherit_cache = True

    def __init__(self, values: ColumnElement[Any] | InstrumentedAttribute[Any], name: str) -> None:
        kind = ARRAY(values.type).with_variant(_JsonList(), "sqlite")
        super().__init__(values, bindparam(name, type_=kind))

    def self_group(self, against: Any = None) -> Self:  # noqa: ARG002
        """Return this condition unchanged: SQLAlchemy would write `… IN (…) = 1`, for which SQLite uses no index."""
        return self


class _JsonList(TypeDecorator[Collection[Any]]):
    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Collection[Any] | None, dialect: Dialect) -> str:  # noqa: ARG002
        return json.dumps(list(value or ()))


@compiles(among, "postgresql")
def _among_postgresql(element: among, compiler: SQLCompiler, **kw: Any) -> str:
    values, parameter = (compiler.process(one, **kw) for one in element.clauses)
    return f"{values} = ANY ({parameter})"


@compiles(among, "sqlite")
def _among_sqlite(element: among, compiler: SQLCompiler, **kw: Any) -> str:
    values, parameter = (compiler.process(one, **kw) for one in element.clauses)
    return f"{values} IN (SELECT value FROM json_each({parameter}))"  # noqa: S608 (a column and a parameter)


class Rows:
    """Rows passed to a statement as one JSON parameter, so that its text is the same for any number of rows.

    Their number is a second parameter. Otherwise PostgreSQL would assume a hundred rows, and scan a table of a few
    thousand rows instead of using an index.

    Args:
        columns: type of each column, by name.
    """

    def __init__(self, columns: Mapping[str, TypeEngine[Any]]) -> None:
        self._columns = [column(name, kind) for name, kind in columns.items()]
        self._decorated = {name: kind for name, kind in columns.items() if isinstance(kind, TypeDecorator)}

    def table(self) -> FromClause:
        """Return the rows as a table expression."""
        fields = (_field(one).label(one.name) for one in self._columns)
        rows = select(*fields).select_from(_each_row(bindparam(GIVEN, type_=Text), *self._columns))
        count = bindparam(COUNT, type_=Integer)
        # applied twice: PostgreSQL estimates an unknown limit as a tenth of the rows, and so expects one row, not ten
        return select(rows.limit(count).subquery()).limit(count).subquery(GIVEN)

    def parameters(self, session: Session, rows: Iterable[dict[str, Any]]) -> dict[str, str | int]:
        """Return the parameters for these rows."""
        dialect, decorated = session.get_bind().dialect, self._decorated.items()
        bound = [
            row | {name: kind.process_bind_param(row[name], dialect) for name, kind in decorated}
            for row in rows
        ]
        return {GIVEN: json.dumps(bound, default=_moment), COUNT: len(bound)}


class _each_row(FunctionElement[Any]):  # noqa: N801  (a SQL function)
    """The rows of a JSON parameter; PostgreSQL also needs their columns."""

    inherit_cache = True


class _field(FunctionElement[Any]):  # noqa: N801  (a SQL function)
    """A field of a row of `_each_row`."""

    inherit_cache = True

    def __init__(self, of: ColumnElement[Any]) -> None:
        super().__init__(of)
        self.type = of.type


@compiles(_each_row, "postgresql")
def _rows_postgresql(element: _each_row, compiler: SQLCompiler, **kw: Any) -> str:
    parameter, *columns = element.clauses
    types = compiler.dialect.type_compiler_instance
    typed = ", ".join(f"{compiler.process(one)} {types.process(one.type)}" for one in columns)
    return f"json_to_recordset(CAST({compiler.process(parameter, **kw)} AS JSON)) AS each_row ({typed})"


@compiles(_each_row, "sqlite")
def _rows_sqlite(element: _each_row, compiler: SQLCompiler, **kw: Any) -> str:
    parameter, *_ = element.clauses
    return f"json_each({compiler.process(parameter, **kw)}) AS each_row"


@compiles(_field, "postgresql")
def _field_postgresql(element: _field, compiler: SQLCompiler, **kw: Any) -> str:
    return f"each_row.{compiler.process(element.clauses, **kw)}"


@compiles(_field, "sqlite")
def _field_sqlite(element: _field, compiler: SQLCompiler, **kw: Any) -> str:
    return f"json_extract(each_row.value, '$.{compiler.process(element.clauses, **kw)}')"


def _moment(value: datetime) -> str:
    """Return a time, which JSON lacks, in a format that SQLite stores and PostgreSQL parses."""
    return value.isoformat(" ", "microseconds")
