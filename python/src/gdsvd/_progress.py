"""What a run says on standard error while it goes on: its progress as bars of tqdm, and its errors."""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
from typing import Any, BinaryIO

SHOWN = ("entries", "pass", "round", "found", "of", "residual", "rmse", "bytes_per_second", "eta_seconds")


def wanted(progress: bool | None) -> bool:
    """Whether bars are drawn: if it is left open, on a terminal and in a notebook where tqdm is installed.

    Raises
    ------
    ImportError
        If they are asked for and tqdm is not installed.
    """
    if progress is False or progress is None and not _terminal() and "ipykernel" not in sys.modules:
        return False
    there = importlib.util.find_spec("tqdm") is not None
    if progress and not there:
        raise ImportError("progress is drawn by tqdm: pip install tqdm, or leave progress=True out")
    return there


def _terminal() -> bool:
    """Whether standard error is a terminal: what stands for it may be closed, or only be written to."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


def fields(line: str) -> dict[str, Any]:
    """The names and values of a line of the log, as of ``gdsvd --log-format json``; none of another line."""
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


class Watch(threading.Thread):
    """Reads what a run says, until it has ended.

    Parameters
    ----------
    lines : file
        Standard error of the run, which is closed at its end.
    bars : bool
        Whether to draw how far it is.

    Attributes
    ----------
    errors : list of str
        What it says of errors.
    exit : int
        The exit code that it says; the system tells none where SIGCHLD is ignored.
    """

    def __init__(self, lines: BinaryIO, bars: bool) -> None:
        super().__init__(daemon=True)
        self.lines, self.bars = lines, bars
        self.errors: list[str] = []
        self.exit = 0
        self.bar: Any = None
        self.start()

    def run(self) -> None:
        """Read until the end."""
        with self.lines:
            for raw in self.lines:
                line = raw.decode(errors="replace").rstrip("\n")
                said = fields(line)
                if line.startswith("gdsvd: "):
                    self.errors.append(line.removeprefix("gdsvd: "))
                elif said.get("event") == "final" and said.get("exit"):
                    self.errors.append(str(said.get("msg")))
                    self.exit = int(said["exit"])
                elif self.bars:
                    try:
                        self._draw(said)
                    except Exception:  # a bar that cannot be drawn is not worth failing for
                        self.bars = False
        if self.bar is not None:
            self.bar.close()

    def _draw(self, said: dict[str, Any]) -> None:
        """Show a line of progress; others have no share of the whole."""
        if "share" not in said or said.get("event") != "progress":
            return
        title = str(said["task"])
        if self.bar is None or self.bar.desc.removesuffix(": ") != title:
            if self.bar is not None:
                self.bar.close()
            from tqdm.auto import tqdm

            self.bar = tqdm(desc=title, total=100, leave=False, bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}{postfix}")
        self.bar.set_postfix({k: said[k] for k in SHOWN if k in said}, refresh=False)
        self.bar.n = int(100 * said["share"])
        self.bar.refresh()
