"""Output of the gdsvd program as pandas tables."""

from __future__ import annotations

import csv
import importlib
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


def pandas_module() -> Any:
    """Return the module pandas.

    Raises
    ------
    ImportError
        If pandas is not installed.
    """
    try:
        return importlib.import_module("pandas")
    except ImportError:
        raise ImportError("tables need pandas: pip install pandas") from None


def csv_lines(file: IO[str]) -> csv.DictReader[str]:
    """Return a reader of a CSV file that the program has written. Ids have up to 1 MiB, and csv reads fields of 128 KiB unless its limit is higher."""
    csv.field_size_limit(max(csv.field_size_limit(), 1 << 20))
    return csv.DictReader(file)


def frame(records: Iterable[dict[str, Any]], columns: list[str], optional: tuple[str, ...] = ()) -> pandas.DataFrame:
    """Return a table of records with the given columns, and with those of the optional columns that any record has."""
    records = list(records)
    columns = columns + [name for name in optional if any(name in r for r in records)]
    pd = pandas_module()
    try:
        return pd.DataFrame.from_records(records, columns=columns)
    except UnicodeEncodeError:  # ids that are not UTF-8 do not fit into the string type of pandas 3
        texts = {name for r in records for name in columns if isinstance(r.get(name), str)}
        return pd.DataFrame({name: pd.Series([r.get(name) for r in records], dtype=object if name in texts else None) for name in columns})


def index(ids: list[Any], name: str | None = None) -> pandas.Index:
    """Return ids as an Index, of type object if one of them is not UTF-8."""
    pd = pandas_module()
    try:
        return pd.Index(ids, name=name)
    except UnicodeEncodeError:  # as in `frame`
        return pd.Index(ids, name=name, dtype=object)
