# SPDX-License-Identifier: Apache-2.0
"""The tables, canonical views and views of a lake for Spark: the texts that DuckDB has, with the words of Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

__all__ = ["spark_sql"]

# All else is the same in both. A double quote is in no text.
_WORDS = (('"', "`"), (" // ", " div "), ("* EXCLUDE (", "* EXCEPT ("), ("struct_pack(", "struct("), ("list_extract(", "try_element_at("),
          ("epoch_us(", "unix_micros("), ("::TIMESTAMPTZ", "::TIMESTAMP"))
_MACRO = re.compile(r"CREATE OR REPLACE MACRO (\w+)\(([\w, ]*)\) AS TABLE\s+(.*?;)", re.DOTALL)


def spark_sql(tables: Mapping[str, Any], views: Iterable[tuple[str, str]], macros: str) -> str:
    """What `spark-sql` takes: the tables by their log, so that it stays true."""
    lines = ["SET TIME ZONE 'UTC';"]
    for name, table in sorted(tables.items(), key=lambda each: each[0] != "users"):
        address = unquote(table.table_uri).rstrip("/").replace("`", "``")
        address = re.sub("^s3://", "s3a://", address)
        uids = [field.name for field in table.schema().fields if field.name in ("owner_uid", "uid")]
        text = f"SELECT * FROM delta.`{address}`"
        if name != "users" and uids and "users" in tables:
            text = (f"SELECT of_parts.* EXCEPT (user), coalesce(of_parts.user, said.user) AS user FROM ({text}) AS of_parts LEFT JOIN users AS said "
                    f"ON of_parts.host_name = said.host_name AND coalesce({', '.join(f'of_parts.{uid}' for uid in uids)}) = said.uid")
        lines.append(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {text};")
    for name, text in views:
        lines.append(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS\n{_translated(text).strip()};")
    for name, parameters, body in _MACRO.findall(macros):
        typed = ", ".join(f"{each.strip()} STRING" for each in parameters.split(","))
        lines.append(f"CREATE OR REPLACE TEMPORARY FUNCTION {name}({typed}) RETURNS TABLE RETURN\n{_translated(body)}")
    # spark-sql ends a statement at a ; in a comment, too.
    return re.sub(r"(?m)^--.*\n", "", "\n".join(lines)) + "\n"


def _translated(text: str) -> str:
    for ours, theirs in _WORDS:
        text = text.replace(ours, theirs)
    return text
