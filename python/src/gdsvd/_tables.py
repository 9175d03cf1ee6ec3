"""Tables of pandas, polars, Arrow and others: recognising them, and writing tables with one entry a row as text for the gdsvd program."""

from __future__ import annotations

import csv
import io
import math
import os
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from ._places import missing

LINES = 1 << 14  # rows of a table that are written together
READERS = ("to_arrow_reader", "fetch_arrow_reader", "fetch_record_batch", "to_pyarrow_batches")  # methods of DuckDB and Ibis that read in batches
HANDS_OVER = ("__dataframe__", "__arrow_c_stream__", "__arrow_c_array__", "collect_schema", *READERS)


def is_table(a: Any) -> bool:
    """Report whether `a` is a table with named columns, provides one by the Arrow interface, or yields one when read, as a LazyFrame does.

    Raises
    ------
    TypeError
        If `a` is a Delayed of Dask, which claims to have every attribute.
    """
    if type(a).__module__.startswith("dask.delayed"):
        raise TypeError("a Delayed of Dask is no table before it is computed: give what its compute() returns, or (part.compute() for part in parts)")
    return any(hasattr(a, name) for name in HANDS_OVER) or hasattr(a, "columns") and hasattr(a, "iloc")


def names(table: Any) -> list[Any]:
    """Return the names of the columns of a table; an empty list if they are not known before the table is read."""
    if hasattr(table, "collect_schema"):
        return list(table.collect_schema().names())
    for of in (table, getattr(table, "schema", None)):
        for name in ("columns",) if hasattr(of, "iloc") else ("column_names", "columns", "names"):  # columns of pandas are attributes, too
            said = getattr(of, name, None)
            if said is not None and not callable(said) and all(isinstance(n, (str, int)) for n in said):
                return list(said)
    return []


def refuse(table: Any, what: str, call: str) -> None:
    """Refuse a table without roles of columns, which may mean entries or a dense matrix.

    Raises
    ------
    ValueError
        If `table` is a table; the message explains both readings, with `what` as its name and `call` as the call to complete.
    """
    if not is_table(table):
        return
    there = names(table)
    shown = f"columns {', '.join(map(str, there[:6]))}{', …' if len(there) > 6 else ''}" if there else "named columns"
    roles = [str(n) for n in there[:3]] if len(there) >= 3 else ["user", "item", "rating"]
    raise ValueError(
        f"{what} is a table with {shown}, which can be read in two ways. One entry a line: name the roles, as "
        f"{call}row={roles[0]!r}, col={roles[1]!r}, value={roles[2]!r}). A dense matrix: give an array, as .to_numpy() of pandas and polars makes it"
    )


def _batches(tables: Any, used: list[Any]) -> Iterator[Any]:
    """Yield the parts of a table, of a stream of Arrow, or of an iterable of tables. One part at a time is in memory."""
    reader = next((getattr(tables, name) for name in READERS if hasattr(tables, name)), None)
    if hasattr(tables, "collect_schema") and hasattr(tables, "collect"):  # a LazyFrame of polars
        chosen = tables.select(_known(tables, used))
        if not hasattr(chosen, "collect_batches"):
            raise TypeError(f"a LazyFrame of this version of polars has no batches: give lazy.select({used!r}).collect(), or a newer polars")
        yield from chosen.collect_batches()
    elif reader is not None:
        yield from reader()
    elif hasattr(tables, "npartitions") and hasattr(tables, "partitions"):  # a DataFrame of Dask
        yield from (tables.partitions[i].compute() for i in range(tables.npartitions))
    elif hasattr(tables, "read_next_batch"):
        yield from tables
    elif not is_table(tables):
        for table in tables:
            yield from _batches(table, used) if is_table(table) else [table]
    elif not names(tables) or not hasattr(tables, "__len__") and not hasattr(tables, "num_rows"):  # the latter of Spark
        try:
            import pyarrow
        except ImportError:
            raise ImportError("streams of Arrow are read by pyarrow: pip install pyarrow") from None
        if hasattr(tables, "__arrow_c_stream__"):
            yield from pyarrow.RecordBatchReader.from_stream(tables)
        else:
            yield pyarrow.record_batch(tables)
    else:
        yield tables


def _parts(table: Any) -> Iterator[Any]:
    """Yield slices of a table in memory, so that at most `LINES` of its rows are Python objects at a time."""
    n = len(table) if hasattr(table, "__len__") else table.num_rows
    cut = getattr(table, "slice", None)
    for i in range(0, n, LINES):
        yield cut(i, min(LINES, n - i)) if callable(cut) else table.iloc[i : i + LINES] if hasattr(table, "iloc") else table
        if not callable(cut) and not hasattr(table, "iloc"):
            return


def _known(table: Any, used: list[Any]) -> list[Any]:
    """Return `used`, after checking that the table has these columns.

    Raises
    ------
    ValueError
        If the table lacks a column.
    """
    there = names(table)
    for what, name in zip(("row", "col", "value"), used):
        if name not in there:
            raise ValueError(f"{what} = {name!r}: the table has no such column, but {', '.join(map(repr, there))}")
    return used


def _column(table: Any, name: Any) -> list[Any]:
    """Return the values of a column of a table as Python objects."""
    c = table[name] if hasattr(table, "__getitem__") else table.column(name)
    return _objects(c, name)


def _objects(c: Any, name: Any) -> list[Any]:
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(c, method):
            return list(getattr(c, method)())
    raise TypeError(f"column {name!r}: values of type {type(c).__name__} cannot be read")


def ids(a: Any) -> Iterable[Any] | None:
    """Return a caller's ids as an iterable. They may be an iterable, an array of Arrow, or a table of one column; None gives None.

    Raises
    ------
    ValueError
        If a table has several columns.
    """
    if a is None or not is_table(a) and not hasattr(a, "to_pylist"):
        return list(a.to_list()) if hasattr(a, "to_list") else a
    if hasattr(a, "to_pylist") and not names(a):  # an array
        return list(a.to_pylist())
    if not names(a) and hasattr(a, "to_list"):  # a Series of polars
        return list(a.to_list())
    return _of_one_column(a)


def _of_one_column(a: Any) -> Iterator[Any]:
    at = 0
    for table in _batches(a, names(a)):
        there = names(table)
        if len(there) != 1:
            raise ValueError(f"ids are a list or a table of one column, not of {len(there)}: {', '.join(map(repr, there))}")
        for part in _parts(table):
            for v in _column(part, there[0]):
                yield _id(v, at, there[0])
                at += 1


def _value(v: Any, at: int, name: Any) -> float:
    """Return the value of an entry as a finite float, or raise a ValueError that names row `at` and column `name`."""
    try:
        x = float(v)
    except (TypeError, ValueError, OverflowError):
        x = math.nan
    if not math.isfinite(x):
        raise ValueError(f"row {at} of the table, column {name!r}: {v!r} is no finite number")
    return x


def _id(v: Any, at: int, name: Any) -> str:
    """Return an id as text, or raise a ValueError that names row `at` and column `name`."""
    if isinstance(v, float) and v.is_integer():
        v = int(v)
    text = v.decode(errors="surrogateescape") if isinstance(v, bytes) else str(v)
    if missing(v) or text in ("", "<NA>"):
        raise ValueError(f"row {at} of the table, column {name!r}: {v!r} is no id")
    if "\n" in text or "\r" in text:
        raise ValueError(f"row {at} of the table, column {name!r}: {text!r} has a line break in it: ids have none")
    return text


def roles(row: Any, col: Any, value: Any, more: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return the names of the columns by role. The options `rows`, `cols`, `values`, which mean the same, are removed from `more`."""
    given = {"row": row, "col": col, "value": value}
    for name in given:
        other = more.pop(name + "s", None)
        if other is not None:
            if given[name] is not None:
                raise ValueError(f"{name} and {name}s are the same: give one of them")
            given[name] = other
    return given["row"], given["col"], given["value"]


def hand_over(tables: Any, roles: tuple[Any, Any, Any], out: BinaryIO) -> None:
    """Write the output of `lines` in gzip format, uncompressed: by a missing trailer the program recognises a truncated table."""
    whole = zlib.compressobj(0, wbits=31)
    for part in lines(tables, roles):
        out.write(whole.compress(part))
    out.write(whole.flush())


def lines(tables: Any, roles: tuple[Any, Any, Any]) -> Iterator[bytes]:
    """Yield the entries of a table, of a stream of Arrow or of an iterable of tables as text, one entry a line, in the format of `FLAGS`.

    Raises
    ------
    TypeError
        If an object is not a table.
    ValueError
        If a named column does not exist, an id is missing, or a value is not a finite number; the message names row and column.
    """
    row, col, value = roles
    if row is None or col is None:
        raise ValueError("row= and col= name columns of a table: give both")
    if row == col:
        raise ValueError(f"row = {row!r}, col = {col!r}: one column is named twice")
    if not is_table(tables) and not hasattr(tables, "__iter__") or hasattr(tables, "ndim") and not is_table(tables) or isinstance(tables, (str, os.PathLike)):
        raise TypeError(f"row=, col= and value= name columns of a table, not of an object of type {type(tables).__name__}")
    used = [row, col] if value is None else [row, col, value]
    at = 0
    for table in _batches(tables, used):
        if not is_table(table):
            raise TypeError(f"an object of type {type(table).__name__} is no table: row=, col= and value= name columns of tables")
        _known(table, used)
        for part in _parts(table):
            columns = [_column(part, name) for name in used]
            if value is None:
                columns.append([1] * len(columns[0]))
            text = io.StringIO(newline="")
            w = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)  # unquoted ids lose blanks, and a # begins a comment
            for r, c, v in zip(*columns, strict=True):
                w.writerow((_id(r, at, row), _id(c, at, col), _value(v, at, value)))
                at += 1
            try:
                encoded = text.getvalue().encode(errors="surrogateescape")
            except UnicodeEncodeError as err:
                line = err.object[:err.start].count("\n") + at - len(columns[0])
                raise ValueError(f"row {line} of the table: an id has half of a character in it, {err.object[err.start]!r}, which UTF-8 does not have") from None
            yield encoded


FLAGS = ["--format=delimited", "--sep=,", "--header=no", "--columns=1,2,3"]
