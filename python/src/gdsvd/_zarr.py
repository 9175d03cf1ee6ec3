"""AnnData in folders of zarr, of format 2 or 3, sharded or not: opened to read, and what is added to them."""

from __future__ import annotations

import os
import pathlib
import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np

MARKS = ("zarr.json", ".zgroup", ".zarray")


def is_zarr(path: str | os.PathLike[str]) -> bool:
    """Whether a path is that of a folder of zarr."""
    return any(os.path.isfile(os.path.join(path, name)) for name in MARKS)


def opened(path: str | os.PathLike[str]) -> Any:
    """The group of a folder, to read from.

    Raises
    ------
    ImportError
        If zarr is not installed, or too old.
    ValueError
        If the folder is that of an array.
    """
    group = zarr().open(os.fspath(path), mode="r", use_consolidated=False)
    if hasattr(group, "dtype"):
        raise ValueError(f"{os.fspath(path)} is an array of zarr, not an AnnData: give zarr.open of it to gdsvd.svds")
    return group


def zarr() -> Any:
    """The module zarr.

    Raises
    ------
    ImportError
        If zarr is not installed, or too old.
    """
    try:
        import zarr
    except ImportError:
        raise ImportError("folders of zarr are read and written by zarr: pip install zarr") from None
    if int(zarr.__version__.partition(".")[0]) < 3:
        raise ImportError(f"zarr {zarr.__version__} is too old: pip install 'zarr>=3'")
    return zarr


def state(path: pathlib.Path, name: str) -> tuple[int, ...]:
    """What tells that an element has been written to: when its folders have changed."""
    return tuple(os.stat(folder).st_mtime_ns for folder, _, _ in os.walk(path / name))


class Additions:
    """Elements of an AnnData that are made apart, and put in their places at the end.

    Each takes its place in one step, in the order in which they were made; if one cannot, those before are put back.

    Parameters
    ----------
    path : path
        The folder of the AnnData.
    folder : path
        An empty folder in the same file system.
    """

    def __init__(self, path: pathlib.Path, folder: pathlib.Path) -> None:
        self.path, self.folder, self.names = path, folder, list[str]()
        self.format = opened(path).metadata.zarr_format
        self.group = zarr().open_group(str(folder / "new"), mode="w", zarr_format=self.format)

    def array(self, name: str, shape: tuple[int, int], dtype: Any, blocks: Iterator[np.ndarray]) -> None:
        """Make an array of blocks of rows."""
        step = max(1, min(shape[0], 1 << 14))
        a = self.group.create_array(str(len(self.names)), shape=shape, dtype=np.dtype(dtype).newbyteorder("="), chunks=(step, shape[1]))
        a.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
        at = 0
        for block in blocks:
            a[at : at + len(block)] = block
            at += len(block)
        self.names.append(name)

    def element(self, name: str, value: Any) -> None:
        """Make a dict, as AnnData writes it."""
        try:
            from anndata.io import write_elem
        except ImportError:
            raise ImportError("into folders of zarr results are written by anndata: pip install 'anndata>=0.11'") from None
        write_elem(self.group, str(len(self.names)), value)
        self.names.append(name)

    def place(self) -> None:
        """Put everything in its place."""
        done: list[tuple[pathlib.Path, pathlib.Path | None]] = []
        try:
            for i, name in enumerate(self.names):
                here, old = self.path / name, self.folder / f"old{i}"
                had = here.exists()
                if had:
                    os.rename(here, old)
                    done.append((here, old))
                os.rename(self.folder / "new" / str(i), here)
                if not had:
                    done.append((here, None))
        except BaseException:
            for here, was in reversed(done):
                if here.exists():
                    shutil.rmtree(here)
                if was is not None:
                    os.rename(was, here)
            raise
        self._consolidate()

    def _consolidate(self) -> None:
        """Write the metadata of all elements together anew, where they are."""
        if zarr().open_group(str(self.path), mode="r").metadata.consolidated_metadata is not None:
            zarr().consolidate_metadata(str(self.path), zarr_format=self.format)
