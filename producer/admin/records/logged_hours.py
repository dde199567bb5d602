"""The hours of a time entry, in SQL: read from the body with which deskbridge logged it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Float
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction


class logged_hours(GenericFunction[float]):  # noqa: N801  (a SQL function)
    """The hours in the body of a time entry; NULL if it has none, or if they are no decimal number."""

    type = Float()
    inherit_cache = True


@compiles(logged_hours, "postgresql")
def _hours_postgresql(element: logged_hours, compiler: SQLCompiler, **kw: Any) -> str:
    hours = f"CAST({compiler.process(element.clauses, **kw)} AS json) -> 'time_entry' ->> 'hours'"
    return f"CASE WHEN ({hours}) ~ '^[0-9]+([.][0-9]+)?$' THEN CAST({hours} AS double precision) END"


@compiles(logged_hours, "sqlite")
def _hours_sqlite(element: logged_hours, compiler: SQLCompiler, **kw: Any) -> str:
    hours = f"json_extract({compiler.process(element.clauses, **kw)}, '$.time_entry.hours')"
    return f"CASE WHEN {hours} GLOB '[0-9]*' AND NOT {hours} GLOB '*[^0-9.]*' THEN CAST({hours} AS REAL) END"
