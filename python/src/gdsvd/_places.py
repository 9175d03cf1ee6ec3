"""Temporary folders of calls, and the files with lists of ids that the gdsvd program reads from them."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from typing import Any

from ._errors import GdsvdError, UsageError
from ._words import RENAMED

PREFIX = "gdsvd-tmp-"
STALE = 60  # seconds without a change after which an unlocked folder counts as left by a process that was killed


@contextlib.contextmanager
def workplace(needed: int | None = None, beside: str | os.PathLike[str] | None = None) -> Iterator[pathlib.Path]:
    """Provide a temporary folder that is removed when the block ends: in /dev/shm if memory is ample, else in the folder for temporary files.

    Folders that killed processes left in the same place are removed, too.

    Parameters
    ----------
    needed : int or None
        Upper bound of the bytes that are written to the folder; None if it is not known.
    beside : path, optional
        A file or folder. The temporary folder is then a hidden folder next to it, and so in the same file system.
    """
    if beside is not None:
        parent, prefix = os.path.dirname(os.path.abspath(beside)), "." + PREFIX
    else:
        parent, prefix = "/dev/shm" if _fits("/dev/shm", needed) else tempfile.gettempdir(), PREFIX
    _sweep(parent, prefix)
    name = tempfile.mkdtemp(prefix=prefix, dir=parent)
    held = _hold(name)
    try:
        yield pathlib.Path(name)
    finally:
        shutil.rmtree(name, ignore_errors=True)
        if held is not None:
            os.close(held)


def _hold(folder: str | os.PathLike[str]) -> int | None:
    """Lock a folder until the returned descriptor is closed or the process ends. None: another process holds the lock, or there are no locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    fd = None
    try:
        fd = os.open(folder, os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return fd
    except OSError:
        if fd is not None:
            os.close(fd)
        return None


def _sweep(parent: str, prefix: str) -> None:
    """Remove the folders of `workplace` that processes left behind because they were killed."""
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if not re.fullmatch(re.escape(prefix) + "[a-z0-9_]{8}", entry.name) or not entry.is_dir(follow_symlinks=False):
                continue
            if time.time() - entry.stat().st_mtime > STALE and (held := _hold(entry.path)) is not None:
                shutil.rmtree(entry.path, ignore_errors=True)
                os.close(held)


def _fits(shm: str, needed: int | None) -> bool:
    """Report whether three times the needed bytes and 64 MiB are free in the memory file system `shm`, and in memory. False if TMPDIR is set."""
    if needed is None or not sys.platform.startswith("linux") or not os.access(shm, os.W_OK) or "TMPDIR" in os.environ:
        return False
    try:
        with open("/proc/meminfo") as f:
            available = next(int(line.split()[1]) * 1024 for line in f if line.startswith("MemAvailable:"))
        return 3 * needed + (64 << 20) < min(available, shutil.disk_usage(shm).free)
    except (OSError, StopIteration, ValueError):
        return False


def strings(items: Iterable[Any], file: pathlib.Path, what: str) -> None:
    """Write texts to a file, one a line. `what` names them in errors.

    Raises
    ------
    TypeError
        If `items` is a single text or number instead of several.
    ValueError
        If there is no item, or an item is missing, has a line break in it, or has a lone surrogate that stands for no byte.
    """
    if isinstance(items, (str, bytes)):
        raise TypeError(f"{what} = {items!r} is one text: give a list of them")
    if not hasattr(items, "__iter__"):
        raise TypeError(f"{RENAMED.get(what, what)} = {items!r} is no list of ids: give one, also of a single id")
    # Readers drop a byte order mark at the beginning of a file. The extra mark (utf-8-sig) keeps one that belongs to the first id.
    with open(file, "w", encoding="utf-8-sig", errors="surrogateescape", newline="\n") as f:
        i = -1
        for i, item in enumerate(items):
            if missing(item):
                raise ValueError(f"{what}[{i}] = {item!r} is missing: every id and title is a text or a number")
            text = item.decode(errors="surrogateescape") if isinstance(item, bytes) else str(item)
            if "\n" in text or "\r" in text:
                raise ValueError(f"{what}[{i}] = {text!r} has a line break in it: ids and titles have none")
            try:
                f.write(text + "\n")
            except UnicodeEncodeError:
                raise ValueError(f"{what}[{i}] = {text!r} has half of a character in it, which UTF-8 does not have") from None
    if i < 0:
        raise UsageError(f"{RENAMED.get(what, what)} is empty: give at least one")


def missing(v: Any) -> bool:
    """Report whether a value is a missing value: None, NaN, NaT, the NA of pandas, a null of Arrow."""
    return not isinstance(v, (str, bytes, int)) and str(v).lower() in ("none", "nan", "nat", "<na>")


@contextlib.contextmanager
def listed(**lists: Iterable[Any] | None) -> Iterator[list[str]]:
    """Provide flags ``--NAME=FILE`` for lists, each in a temporary file with one text a line. Errors of the program name the list, not the file."""
    with workplace() as tmp:
        out = []
        for name, items in lists.items():
            if items is not None:
                strings(items, tmp / name, name)
                out.append(f"--{name.replace('_', '-')}={tmp / name}")
        try:
            yield out
        except GdsvdError as err:
            err.args = (str(err).replace(f"{tmp}{os.sep}", ""),)
            raise
