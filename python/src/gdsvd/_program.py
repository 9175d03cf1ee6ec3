"""The gdsvd program, an executable in the wheel: finding it, verifying its version, and running a command of it."""

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
import weakref
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from ._errors import VersionError
from ._progress import Watch, wanted
from ._words import failure

HEEDED = ("GDSVD_MEMORY", "GDSVD_WORKERS")  # environment variables for flags that runs see; others would change what a call computes
PIPE = 1 << 20  # size of the pipe to the program in bytes, on systems where it can be set

_fed: weakref.WeakSet[Any] = weakref.WeakSet()  # the pipes to programs


@functools.cache
def program() -> str:
    """Return the path of the program, after verifying that it has the version and revision that this package was built with.

    The environment variable ``GDSVD_BINARY`` names another executable, which must have the same version and revision.
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
    """Report whether the file has the size, version and revision that the build recorded. Running it to ask takes longer than a small call."""
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
        Called with a file; writes the standard input of the program to it.
    progress : bool or None
        Whether bars show the progress. None: on a terminal and in a notebook, if tqdm is installed.

    Returns
    -------
    dict
        The output of the command under ``--json``.

    Raises
    ------
    GdsvdError
        The exception that `failure` makes from the exit code and the error text. If the program printed a result, it is its ``info``.
    KeyboardInterrupt
        If this process or the program is interrupted. The program has stopped then.
    """
    bars = wanted(progress)
    # If this process is killed, the program ends at its next line of the log, because nothing reads the pipe any more.
    with _started(["--log-format=json", *args], feed is not None) as child:
        assert child.stderr
        watch, child.stderr = Watch(child.stderr, bars), None  # type: ignore[arg-type]
        cut = False
        if feed and child.stdin:
            try:
                feed(child.stdin)  # type: ignore[arg-type]
                child.stdin.close()
            except BrokenPipeError:  # the program has ended, and reports the reason itself
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
    text = said.get("error") or (watch.errors[-1] if watch.errors else "")
    kind = 1 if code == 2 and not text else code  # the Go runtime ends a program with 2, too, which is no wrong usage then
    error = failure(kind, text or _ended(os.fspath(args[0]), code, watch.crash), args)
    if "error" not in said:
        error.info = said  # type: ignore[attr-defined]
    raise error


def _ended(command: str, code: int, crash: str) -> str:
    """Return the message for a command that failed without an error message."""
    if code == -getattr(signal, "SIGKILL", 9):
        return f"gdsvd {command} was killed, as the system does when memory runs out: give memory= a size that leaves room for this process"
    return f"gdsvd {command} ended with exit code {code}" + (f": {crash}" if crash else "")


@contextlib.contextmanager
def _started(args: list[Any], fed: bool) -> Iterator[subprocess.Popen[bytes]]:
    """Start the program, and end it if the block raises an exception.

    It runs in a process group of its own, so that Ctrl-C reaches it only once, as the signal that this function sends.
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
        _fed.add(child.stdin)
        _widen(child.stdin)
    try:
        yield child
    except BaseException as err:
        # `feed` may have failed: the program must be interrupted before it sees the end of its input, and takes it for complete.
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
    """Wait for a program that was interrupted, and kill it after `patience` seconds."""
    try:
        child.wait(patience)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        child.kill()
        child.wait()


def _widen(pipe: Any) -> None:
    """Enlarge a pipe, on systems that support it."""
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError, AttributeError):  # without it the transfer is only slower
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE)


def _forked() -> None:
    """Close the pipes to programs in a forked process. A program waits for the end of its input until every process has closed the pipe."""
    with open(os.devnull, "wb") as null:
        for pipe in _fed:
            if not pipe.closed:  # the descriptor stays in use, so that no other file gets its number
                os.dup2(null.fileno(), pipe.fileno(), inheritable=False)


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forked)
