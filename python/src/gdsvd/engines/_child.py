"""Code that all engines share: submitting tasks in the driver, and having them done in a worker process of the engine."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

Task = tuple[str, Callable[[str], None], Callable[[BaseException], None]]  # the line, the function for the answer, the one for the error

SHORT = 1  # seconds; a stage that takes less is short
LONGEST = 500  # characters to which an error is cut: errors of Spark contain stack traces of Python and of the JVM

_lock = threading.Lock()  # the child does one task at a time, with all threads of the worker process
_child: subprocess.Popen[str] | None = None


def ask(line: str, program: str, memory: int, threads: int) -> str:
    """Sends a task to the ``gdsvd worker`` child of this process, starts the child if none runs, and returns its answer.

    `program` is the driver's path of the program; if it does not exist here, this package's is used. `memory` is in bytes; 0: the child chooses.
    """
    global _child
    with _lock:
        if not os.path.exists(program):
            from gdsvd._program import program as own

            program = own()
        args = [program, "worker", "--workers", str(threads), *(["--memory", str(memory)] if memory else [])]
        if _child is not None and _child.args != args:  # of another driver, whose program may be another version
            _child.kill()
            _child.wait()
        if _child is None or _child.poll() is not None:
            _child = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
        assert _child.stdin and _child.stdout
        try:
            _child.stdin.write(line.rstrip("\n") + "\n")
            _child.stdin.flush()
            answer = _child.stdout.readline()
        except OSError:
            answer = ""
        except BaseException:  # the task was cancelled: the next must not get its answer
            _child.kill()
            _child.wait()
            raise
        if not answer.endswith("\n"):
            _child.kill()
            raise RuntimeError(f"gdsvd worker ended with {_child.wait()}")
        return answer


def half(slots: int) -> int:
    """Returns half of the memory in bytes that Spark grants this process, else half of that of the machine or container, divided by `slots`.

    `slots` 0 stands for the number of processors. The result 0 means that the memory is not known.
    """
    processors = os.cpu_count() or 1
    try:
        own = int(os.environ.get("PYSPARK_EXECUTOR_MEMORY_MB", "0")) << 20  # Spark has already divided it among the processes
        if own > 0:
            return own // 2
        has = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
            with contextlib.suppress(OSError, ValueError), open(name) as f:
                has = min(has, int(f.read()))
        return has // 2 // (slots or processors)
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf: the program determines its budget itself
        return 0


def ended(tasks: Iterable[Task], answers: Callable[[], Iterable[str]]) -> None:
    """Calls the answer functions of tasks with the lines of `answers`, or the error functions of all tasks if that fails."""
    try:
        for (_, answer, _), line in zip(tasks, answers(), strict=True):
            answer(line)
    except BaseException as err:
        lost(tasks, err)


def lost(tasks: Iterable[Task], err: BaseException) -> None:
    """Calls the error functions of tasks."""
    for _, _, failed in tasks:
        failed(err)


def together(job: Callable[[list[list[Task]]], None], slots: Callable[[], int]) -> Callable[..., None]:
    """Returns a function that submits tasks in bundles, for engines where the overhead of a submission exceeds the time of a short task.

    Tasks that arrive within a few milliseconds of each other form a stage. `job` runs the bundles of a stage, in a thread of its own. There is
    one bundle for each of the `slots` of the engine if the previous stage was shorter than `SHORT`, else four, for a better balance.
    """
    coming: list[Task] = []
    lock = threading.Lock()
    took = math.inf

    def stage() -> None:
        nonlocal took
        seen = 0
        while seen != len(coming):  # until no task has arrived for two milliseconds
            seen = len(coming)
            time.sleep(0.002)
        with lock:
            tasks = coming[:]
            coming.clear()
        begun = time.monotonic()
        try:
            n = min(len(tasks), (slots() or len(tasks)) * (1 if took < SHORT else 4))
            job([tasks[i::n] for i in range(n)])
        except BaseException as err:
            lost(tasks, err)
        took = time.monotonic() - begun

    def submit(*task: Any) -> None:
        with lock:
            coming.append(task)
            first = len(coming) == 1
        if first:
            threading.Thread(target=stage, daemon=True).start()

    return submit


def serve(submit: Callable[..., None], lines: Iterable[str], out: Callable[[str], object]) -> None:
    """Submits the tasks in `lines`, and writes their answers and errors to `out`, in any order, one line at a time.

    `submit` is called with the line of a task, a function for its answer and a function for its error. Any thread may call these functions.
    """
    lock = threading.Lock()

    def say(text: str) -> None:
        with lock, contextlib.suppress(OSError, ValueError):  # the driver may have ended already
            out(text.rstrip("\n") + "\n")

    def failed(number: int, err: BaseException) -> None:
        say(json.dumps({"id": number, "error": " ".join((str(err) or repr(err)).split())[:LONGEST]}))

    for line in lines:
        submit(line, say, functools.partial(failed, json.loads(line)["id"]))


def piped(submit: Callable[..., None]) -> None:
    """Serves the tasks of standard input, and writes the answers to standard output."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output that an engine prints must not mix with answers

    def put(text: str) -> None:
        out.write(text)
        out.flush()

    serve(submit, (line.decode() for line in sys.stdin.buffer), put)
