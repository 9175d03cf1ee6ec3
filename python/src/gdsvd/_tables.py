"""Tables of pandas, polars and Arrow: what tells one, and the entries of a long one, a row for each."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

LINES = 1 << 14  # that are written together


def is_table(a: Any) -> bool:
    """Whether it is a table with names of columns, or hands over one as Arrow does, such as a relation of DuckDB."""
    return any(hasattr(a, name) for name in ("__dataframe__", "__arrow_c_stream__", "__arrow_c_array__")) or hasattr(a, "columns") and hasattr(a, "iloc")


def names(table: Any) -> list[Any]:
    """The names of the columns of a table; none where they are not known before it is read."""
    for of in (table, getattr(table, "schema", None)):
        for name in ("column_names", "columns", "names"):
            said = getattr(of, name, None)
            if said is not None and not callable(said) and all(isinstance(n, (str, int)) for n in said):
                return list(said)
    return []


def refuse(table: Any, what: str, call: str) -> None:
    """Refuse a table whose meaning is not said.

    Raises
    ------
    ValueError
        If it is one; the text has both readings.
    """
    if not is_table(table):
        return
    there = names(table)
    shown = f"columns {', '.join(map(str, there[:6]))}{', …' if len(there) > 6 else ''}" if there else "named columns"
    roles = [str(n) for n in there[:3]] if len(there) >= 3 else ["user", "item", "rating"]
    raise ValueError(
        f"{what} is a table with {shown}, which can be read in two ways. One entry a line: name the roles, as "
        f"{call}rows={roles[0]!r}, cols={roles[1]!r}, values={roles[2]!r}). A dense matrix: give an array, as .to_numpy() of pandas and polars makes it"
    )


def _batches(tables: Any) -> Iterator[Any]:
    """The tables of one table, of a stream of Arrow, or of an iterable of them."""
    if hasattr(tables, "read_next_batch") or not is_table(tables):
        yield from tables
    elif not names(tables) and hasattr(tables, "__arrow_c_stream__"):
        import pyarrow

        yield from pyarrow.RecordBatchReader.from_stream(tables)
    else:
        yield tables


def _column(table: Any, name: Any, what: str) -> list[Any]:
    """The values of a column of a table as objects of Python."""
    there = names(table)
    if name not in there:
        raise ValueError(f"{what} = {name!r}: the table has no such column, but {', '.join(map(repr, there))}")
    c = table.column(name) if hasattr(table, "column_names") or not hasattr(table, "__getitem__") else table[name]
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(c, method):
            return list(getattr(c, method)())
    raise TypeError(f"{what} = {name!r}: a column of type {type(c).__name__} has no values that can be read")


def _value(v: Any, at: int, name: Any) -> str:
    """A value of an entry, exactly, as text."""
    try:
        x = float(v)
    except (TypeError, ValueError):
        x = math.nan
    if not math.isfinite(x):
        raise ValueError(f"row {at} of the table, column {name!r}: {v!r} is no finite number")
    return repr(x)


def _id(v: Any, at: int, name: Any) -> str:
    """An id as text."""
    if isinstance(v, float) and v.is_integer():
        v = int(v)
    text = v.decode(errors="surrogateescape") if isinstance(v, bytes) else str(v)
    if v is None or isinstance(v, float) and math.isnan(v) or text in ("", "<NA>", "NaT"):
        raise ValueError(f"row {at} of the table, column {name!r}: {v!r} is no id")
    if "\n" in text or "\r" in text:
        raise ValueError(f"row {at} of the table, column {name!r}: {text!r} has a line break in it: ids have none")
    return text


def hand_over(tables: Any, rows: Any, cols: Any, values: Any, out: BinaryIO) -> None:
    """Write the entries of a table, of a stream of Arrow or of an iterable of tables, one a line, in the text that `FLAGS` tell.

    Raises
    ------
    TypeError
        If a table is none.
    ValueError
        If the roles are not those of columns, an id is missing, or a value is no finite number; the text says where.
    """
    if rows is None or cols is None:
        raise ValueError("rows= and cols= name columns of a table: give both")
    if not is_table(tables) and not hasattr(tables, "__iter__") or hasattr(tables, "ndim") and not is_table(tables) or isinstance(tables, (str, os.PathLike)):
        raise TypeError(f"rows=, cols= and values= name columns of a table, not of an object of type {type(tables).__name__}")
    at = 0
    for table in _batches(tables):
        if not is_table(table):
            raise TypeError(f"an object of type {type(table).__name__} is no table: rows=, cols= and values= name columns of tables")
        sides = _column(table, rows, "rows"), _column(table, cols, "cols")
        given: Iterable[Any] = [1] * len(sides[0]) if values is None else _column(table, values, "values")
        entries = zip(*sides, given, strict=True)
        while True:
            text = io.StringIO(newline="")
            w = csv.writer(text, lineterminator="\n")
            begun = at
            for row, col, value in entries:
                w.writerow((_id(row, at, rows), _id(col, at, cols), _value(value, at, values)))
                at += 1
                if at - begun == LINES:
                    break
            if at == begun:
                break
            out.write(text.getvalue().encode(errors="surrogateescape"))


FLAGS = ["--format=delimited", "--sep=,", "--header=no", "--columns=1,2,3"]
