"""What all engines share: the two ends of a task, in the driver and in a worker process of the engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

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


def ended(future: Any, answer: Callable[[str], None], failed: Callable[[BaseException], None]) -> None:
    """Hands on what has become of a task."""
    try:
        answer(future.result())
    except BaseException as err:
        failed(err)


def serve(submit: Callable[[str, Callable[[str], None], Callable[[BaseException], None]], None]) -> None:
    """Submits the lines of standard input, and writes what becomes of each to standard output, in any order.

    `submit` is called with a line, and with what is to be called with its answer or its error, by any thread.
    """
    out, lock = os.fdopen(os.dup(1), "w"), threading.Lock()
    os.dup2(2, 1)  # engines may print

    def say(text: str) -> None:
        with lock:
            out.write(text.rstrip("\n") + "\n")
            out.flush()

    for line in sys.stdin:
        number = json.loads(line)["id"]
        submit(line, say, lambda err, number=number: say(json.dumps({"id": number, "error": str(err) or repr(err)})))  # type: ignore[misc]
