"""Output of the gdsvd program as pandas tables."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

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


def frame(records: Iterable[dict[str, Any]], columns: list[str], optional: tuple[str, ...] = ()) -> pandas.DataFrame:
    """Return a table of records with the given columns, and with those of the optional columns that any record has."""
    records = list(records)
    columns = columns + [name for name in optional if any(name in r for r in records)]
    return pandas_module().DataFrame.from_records(records, columns=columns)
