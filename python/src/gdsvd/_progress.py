"""Reading of the log that a run writes to standard error: progress, which is drawn as bars of tqdm, and errors."""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
from typing import Any, BinaryIO

SHOWN = ("entries", "pass", "round", "found", "of", "residual", "rmse", "bytes_per_second", "eta_seconds")


def wanted(progress: bool | None) -> bool:
    """Report whether to draw bars. For None that is on a terminal and in a notebook, if tqdm is installed.

    Raises
    ------
    ImportError
        If `progress` is True and tqdm is not installed.
    """
    if progress is False or progress is None and not _terminal() and "ipykernel" not in sys.modules:
        return False
    there = importlib.util.find_spec("tqdm") is not None
    if progress and not there:
        raise ImportError("progress is drawn by tqdm: pip install tqdm, or leave progress=True out")
    return there


def _terminal() -> bool:
    """Report whether standard error is a terminal. False if sys.stderr is closed, or has no isatty."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


def fields(line: str) -> dict[str, Any]:
    """Return the fields of a line of the log of ``gdsvd --log-format json``; an empty dict for any other line."""
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


class Watch(threading.Thread):
    """A thread that reads the log of a run until the run has ended.

    Parameters
    ----------
    lines : file
        Standard error of the run. The thread closes it at the end.
    bars : bool
        Whether to draw the progress.

    Attributes
    ----------
    errors : list of str
        The error messages of the run.
    crash : str
        The line with which the Go runtime says why it ended the program; empty if it did not.
    exit : int
        The exit code in the log; 0: none. If SIGCHLD is ignored, the system does not report the exit code.
    """

    def __init__(self, lines: BinaryIO, bars: bool) -> None:
        super().__init__(daemon=True)
        self.lines, self.bars = lines, bars
        self.errors: list[str] = []
        self.crash = ""
        self.exit = 0
        self.bar: Any = None
        self.start()

    def run(self) -> None:
        """Read lines until the end of the file."""
        with self.lines:
            for raw in self.lines:
                line = raw.decode(errors="replace").rstrip("\n")
                said = fields(line)
                if line.startswith("gdsvd: "):
                    self.errors.append(line.removeprefix("gdsvd: "))
                elif line.startswith(("fatal error: ", "panic: ")):
                    self.crash = self.crash or line
                elif said.get("event") == "final" and said.get("exit"):
                    self.errors.append(str(said.get("msg")))
                    self.exit = int(said["exit"])
                elif self.bars:
                    try:
                        self._draw(said)
                    except Exception:  # the run must not fail because a bar cannot be drawn
                        self.bars = False
        if self.bar is not None:
            self.bar.close()

    def _draw(self, said: dict[str, Any]) -> None:
        """Show the progress in a line of the log. Lines without a share of the whole are ignored."""
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
