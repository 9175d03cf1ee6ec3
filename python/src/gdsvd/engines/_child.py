"""What all engines share: the two ends of a task, in the driver and in a worker process of the engine."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

Task = tuple[str, Callable[[str], None], Callable[[BaseException], None]]  # a line, and what is to be called with its answer or its error

SHORT = 1  # seconds
LONGEST = 500  # characters of an error: those of Spark have the traces of all languages

_lock = threading.Lock()  # a child does a task at a time, with all threads of its worker process
_child: subprocess.Popen[str] | None = None


def ask(line: str, program: str, memory: int, threads: int) -> str:
    """Has a task done by the ``gdsvd worker`` of this process, which is started if there is none.

    `program` is that of the driver; where it does not exist the one of this package is taken. `memory` is in bytes.
    """
    global _child
    with _lock:
        if _child is None or _child.poll() is not None:
            if not os.path.exists(program):
                from gdsvd._program import program as own

                program = own()
            flags = ["--memory", str(memory)] if memory else []
            _child = subprocess.Popen(
                [program, "worker", "--workers", str(threads), *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        assert _child.stdin and _child.stdout
        try:
            _child.stdin.write(line.rstrip("\n") + "\n")
            _child.stdin.flush()
            answer = _child.stdout.readline()
        except OSError:
            answer = ""
        if not answer.endswith("\n"):
            _child.kill()
            raise RuntimeError(f"gdsvd worker ended with {_child.wait()}")
        return answer


def half(slots: int) -> int:
    """Half of the bytes that a process may have as one of n, 0 for one a processor: of its own limit, or of that of the machine or container."""
    processors = os.cpu_count() or 1
    try:
        own = int(os.environ.get("PYSPARK_EXECUTOR_MEMORY_MB", "0")) << 20  # Spark has divided it
        if own > 0:
            return own // 2
        has = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
            with contextlib.suppress(OSError, ValueError), open(name) as f:
                has = min(has, int(f.read()))
        return has // 2 // (slots or processors)
    except (AttributeError, ValueError, OSError):  # of Windows: the program finds its own
        return 0


def ended(tasks: Iterable[Task], answers: Callable[[], Iterable[str]]) -> None:
    """Hands on what has become of tasks."""
    try:
        for (_, answer, _), line in zip(tasks, answers(), strict=True):
            answer(line)
    except BaseException as err:
        lost(tasks, err)


def lost(tasks: Iterable[Task], err: BaseException) -> None:
    """Hands on why tasks have not been done."""
    for _, _, failed in tasks:
        failed(err)


def together(job: Callable[[list[list[Task]]], None], slots: Callable[[], int]) -> Callable[..., None]:
    """Submits tasks to an engine for which each costs more than a short task takes, as bundles.

    Tasks that come within a few milliseconds of each other are a stage. `job` has its bundles done, in a thread of its own: one for each of the
    `slots` of the engine, or four of each, so that a slow one is waited for less, where the stage before took longer than `SHORT`.
    """
    coming: queue.Queue[Task] = queue.Queue()
    took = math.inf

    def stage(tasks: list[Task]) -> None:
        nonlocal took
        begun = time.monotonic()
        try:
            n = min(len(tasks), (slots() or len(tasks)) * (1 if took < SHORT else 4))
            job([tasks[i::n] for i in range(n)])
        except BaseException as err:
            lost(tasks, err)
        took = time.monotonic() - begun

    def collect() -> None:
        while True:
            tasks = [coming.get()]
            with contextlib.suppress(queue.Empty):
                while True:
                    tasks.append(coming.get(timeout=0.002))
            threading.Thread(target=stage, args=[tasks], daemon=True).start()

    threading.Thread(target=collect, daemon=True).start()
    return lambda *task: coming.put(task)


def serve(submit: Callable[..., None], lines: Iterable[str], out: Callable[[str], object]) -> None:
    """Submits lines, and hands what becomes of each to `out`, in any order, one at a time.

    `submit` is called with a line, and with what is to be called with its answer or its error, by any thread.
    """
    lock = threading.Lock()

    def say(text: str) -> None:
        with lock, contextlib.suppress(OSError, ValueError):  # a driver that has gone is told nothing
            out(text.rstrip("\n") + "\n")

    def failed(number: int, err: BaseException) -> None:
        say(json.dumps({"id": number, "error": " ".join((str(err) or repr(err)).split())[:LONGEST]}))

    for line in lines:
        submit(line, say, functools.partial(failed, json.loads(line)["id"]))


def piped(submit: Callable[..., None]) -> None:
    """Serves standard input and output."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # engines may print

    def put(text: str) -> None:
        out.write(text)
        out.flush()

    serve(submit, sys.stdin, put)
