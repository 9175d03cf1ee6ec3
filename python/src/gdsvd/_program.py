"""The program of the wheel: where it is, that it is the right one, and one run of it."""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from ._errors import VersionError
from ._progress import Watch, wanted
from ._words import failure

HEEDED = ("GDSVD_MEMORY", "GDSVD_WORKERS")  # of the variables that stand for flags: what others say is not what a call says
PIPE = 1 << 20  # bytes of the pipe to the program, where the system lets one choose


@functools.cache
def program() -> str:
    """The path of the program, which is verified to be that of this package.

    The environment variable ``GDSVD_BINARY`` names another one, of the same version.
    """
    folder = pathlib.Path(__file__).parent / "_bin"
    try:
        built = json.loads((folder / "build.json").read_text())
    except NotADirectoryError:
        raise VersionError(f"{folder} is in an archive, from which the program cannot be started: install the wheel into a folder") from None
    except FileNotFoundError:
        raise VersionError(f"{folder} has no program: the package was not installed from a wheel; use pip install python/ in a checkout") from None
    own = str(folder / ("gdsvd.exe" if os.name == "nt" else "gdsvd"))
    path = os.environ.get("GDSVD_BINARY") or own
    if path == own and _as_built(own, built):
        return own
    try:
        out = subprocess.run([path, "version", "--json"], capture_output=True, stdin=subprocess.DEVNULL, check=True).stdout
        said = json.loads(out)
        there = (said["version"], said["revision"])
    except (OSError, subprocess.CalledProcessError, ValueError, KeyError) as err:
        raise VersionError(f"{path} does not run as gdsvd: {err}; install the wheel for this platform") from None
    if there != (built["version"], built["revision"]) or path == own and os.path.getsize(path) != built["size"]:
        raise VersionError(
            f"{path} is gdsvd {there[0]} {there[1]}, but the package was built with {built['version']} {built['revision']}: "
            "install the wheel again, or unset GDSVD_BINARY"
        )
    return path


def _as_built(path: str, built: dict[str, Any]) -> bool:
    """Whether a program has in it, where it was built with them, its version and revision: running it to ask takes longer than a small call."""
    try:
        with open(path, "rb", 0) as f:
            for name in ("version", "revision"):
                f.seek(built["at"][name])
                if f.read(len(built[name])) != built[name].encode():
                    return False
        return os.path.getsize(path) == built["size"] and os.access(path, os.X_OK)
    except (OSError, KeyError):
        return False


def run(*args: str | os.PathLike[str], feed: Callable[[BinaryIO], None] | None = None, progress: bool | None = False) -> dict[str, Any]:
    """Run one command of the program.

    Parameters
    ----------
    *args : str or path
        The command and its flags.
    feed : callable, optional
        Writes the standard input of the program to the file that it is given.
    progress : bool or None
        Whether bars show how far it is; None is yes on a terminal and in a notebook.

    Returns
    -------
    dict
        What the command prints under ``--json``.

    Raises
    ------
    GdsvdError
        Or what `failure` makes of the exit code and the text; with what is printed as ``info`` if that is a result.
    KeyboardInterrupt
        If this process or the program is interrupted. The program has stopped then.
    """
    bars = wanted(progress)
    # The log is what ends a run whose caller was killed: its next line has no reader.
    with _started(["--log-format=json", *args], feed is not None) as child:
        assert child.stderr
        watch, child.stderr = Watch(child.stderr, bars), None  # type: ignore[arg-type]
        cut = False
        if feed and child.stdin:
            try:
                feed(child.stdin)  # type: ignore[arg-type]
                child.stdin.close()
            except BrokenPipeError:  # the program says why it has gone
                cut = True
                with contextlib.suppress(BrokenPipeError):
                    child.stdin.close()
            child.stdin = None
        out, _ = child.communicate()
        watch.join()
    code = child.returncode or watch.exit
    if code in (130, -signal.SIGINT):
        raise KeyboardInterrupt
    try:
        said = json.loads(out) if out.strip() else {}
    except ValueError:
        said = {}
    if code == 0 and not cut:
        return said
    text = said.get("error") or (watch.errors[-1] if watch.errors else _ended(os.fspath(args[0]), code))
    error = failure(code, text, args)
    if "error" not in said:
        error.info = said  # type: ignore[attr-defined]
    raise error


def _ended(command: str, code: int) -> str:
    """How a command has ended that has said nothing."""
    if code == -getattr(signal, "SIGKILL", 9):
        return f"gdsvd {command} was killed, as the system does when memory runs out: give memory= a size that leaves room for this process"
    return f"gdsvd {command} ended with exit code {code}"


@contextlib.contextmanager
def _started(args: list[Any], fed: bool) -> Iterator[subprocess.Popen[bytes]]:
    """A run of the program that does not outlive the block.

    It is a process group of its own, so that Ctrl-C reaches it once, from here.
    """
    apart: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    try:
        child = subprocess.Popen(
            [program(), "--json", *map(os.fspath, args)],
            stdin=subprocess.PIPE if fed else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={n: v for n, v in os.environ.items() if not n.startswith("GDSVD_") or n in HEEDED} | {"GDSVD_PYTHON": sys.executable}, **apart,
        )  # fmt: skip
    except OSError as err:
        if err.errno != errno.ENOEXEC:
            raise
        raise VersionError(f"{program()} does not run: {err.strerror}; install the wheel for this platform") from None
    if fed:
        _widen(child.stdin)
    try:
        yield child
    except BaseException as err:
        # What is fed may have failed: the program must not take it for the end of its input.
        if child.poll() is None:
            child.send_signal(getattr(signal, "CTRL_BREAK_EVENT", None) or signal.SIGINT)
        if child.stdin:
            with contextlib.suppress(OSError):
                child.stdin.close()
        _reaped(child, patience=30 if isinstance(err, KeyboardInterrupt) else 5)
        raise
    finally:
        if child.stdout:
            child.stdout.close()


def _reaped(child: subprocess.Popen[bytes], patience: float) -> None:
    """Wait for a program that was told to stop; after a limit in seconds it is ended."""
    try:
        child.wait(patience)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        child.kill()
        child.wait()


def _widen(pipe: Any) -> None:
    """Make a pipe larger, where the system knows how."""
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError, AttributeError):  # slower, that is all
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE)
