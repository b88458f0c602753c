"""A table or view of a database by its name, with or without a schema before it."""

from __future__ import annotations

import importlib
import re
from typing import Any

from leastnoise.errors import PlanError

# Without a schema the first of the search path that has the name: temporary tables, then the
# schemas of the connection.
_FIND_POSTGRES = """
SELECT n.nspname
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = %(name)s AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
AND CASE WHEN %(schema)s::text IS NULL THEN pg_catalog.pg_table_is_visible(c.oid)
    ELSE n.nspname = %(schema)s END
ORDER BY n.nspname
"""


def named(connected: Any, table: str) -> Any:
    """The table or view of this name, or of the name after a schema and a point:
    "clinic.visits"."""
    schema, point, name = table.partition(".")
    if connected.name == "postgres":
        return _in_postgres(connected, [(None, table), *([(schema, name)] if point else [])])
    if table in connected.list_tables():
        return connected.table(table)
    # Spark puts the name of a schema into a query as it is.
    if point and re.fullmatch(r"\w+", schema, re.ASCII) and name in _tables_of(connected, schema):
        return connected.table(name, database=schema)
    raise _no_table(table)


def _tables_of(connected: Any, schema: str) -> list[str]:
    try:
        return list(connected.list_tables(database=schema))
    except Exception:  # no such schema, which every engine says in an error of its own
        return []


def _no_table(table: str) -> PlanError:
    return PlanError(
        f"The database has no table or view {table!r}: declare the table to read, with its schema "
        'before a point if that is another one than the usual: table = "schema.table".'
    )


def _in_postgres(connected: Any, names: list[tuple[str | None, str]]) -> Any:
    """The first of these (schema, name) that there is: a table, any view, or a foreign table.

    Asked of the catalogue: ibis looks for tables in `information_schema`, which knows no
    materialised views.
    """
    operations = importlib.import_module("ibis.expr.operations")
    for schema, name in names:
        with connected.con.cursor() as cursor:
            found = cursor.execute(_FIND_POSTGRES, {"schema": schema, "name": name}).fetchone()
        connected.con.commit()
        if found is not None:
            columns = connected.get_schema(name, database=found[0])
            space = operations.Namespace(catalog=None, database=found[0])
            return operations.DatabaseTable(
                name, schema=columns, source=connected, namespace=space
            ).to_expr()
    raise _no_table(".".join(part for part in names[-1] if part))
