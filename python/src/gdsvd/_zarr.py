"""AnnData in zarr folders of format 2 or 3, sharded or not: opening them for reading, and adding elements to them."""

from __future__ import annotations

import os
import pathlib
import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np

MARKS = ("zarr.json", ".zgroup", ".zarray")


def is_zarr(path: str | os.PathLike[str]) -> bool:
    """Report whether a path is that of a zarr folder."""
    return any(os.path.isfile(os.path.join(path, name)) for name in MARKS)


def opened(path: str | os.PathLike[str]) -> Any:
    """Open the group of a zarr folder for reading.

    Raises
    ------
    ImportError
        If zarr is not installed, or too old.
    ValueError
        If the folder holds an array instead of a group.
    """
    group = zarr().open(os.fspath(path), mode="r", use_consolidated=False)
    if hasattr(group, "dtype"):
        raise ValueError(f"{os.fspath(path)} is an array of zarr, not an AnnData: give zarr.open of it to gdsvd.svds")
    return group


def zarr() -> Any:
    """Return the module zarr.

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
    """Return the modification times of the folders of an element, which differ after the element has been written to."""
    return tuple(os.stat(folder).st_mtime_ns for folder, _, _ in os.walk(path / name))


class Additions:
    """New elements of an AnnData, which are written to another folder and renamed to their places at the end.

    The elements are renamed in the order in which they were made, after elements of the same names have been moved aside. If a rename
    fails, all elements that were there before are put back.

    Parameters
    ----------
    path : path
        The folder of the AnnData.
    folder : path
        An empty folder in the same file system for the new elements, and for those that were moved aside.
    """

    def __init__(self, path: pathlib.Path, folder: pathlib.Path) -> None:
        self.path, self.folder, self.names = path, folder, list[str]()
        self.format = opened(path).metadata.zarr_format
        self.group = zarr().open_group(str(folder / "new"), mode="w", zarr_format=self.format)

    def array(self, name: str, shape: tuple[int, int], dtype: Any, blocks: Iterator[np.ndarray]) -> None:
        """Write a new array from blocks of rows."""
        step = max(1, min(shape[0], 1 << 14))
        a = self.group.create_array(str(len(self.names)), shape=shape, dtype=np.dtype(dtype).newbyteorder("="), chunks=(step, shape[1]))
        a.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
        at = 0
        for block in blocks:
            a[at : at + len(block)] = block
            at += len(block)
        self.names.append(name)

    def element(self, name: str, value: Any) -> None:
        """Write a new dict as AnnData does, which needs anndata 0.11 or newer."""
        try:
            from anndata.io import write_elem
        except ImportError:
            raise ImportError("results in folders of zarr are written by anndata: pip install 'anndata>=0.11'") from None
        write_elem(self.group, str(len(self.names)), value)
        self.names.append(name)

    def place(self) -> None:
        """Rename all new elements to their places."""
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
        """Write the consolidated metadata again, if the folder has any."""
        if zarr().open_group(str(self.path), mode="r").metadata.consolidated_metadata is not None:
            zarr().consolidate_metadata(str(self.path), zarr_format=self.format)
