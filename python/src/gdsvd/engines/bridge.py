"""Bridge to a client in another process: tasks of standard input go to a socket of that process. The engine is ``dask://bridge:SOCKET``."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Client, Connection, Listener

from ._child import serve


def bridged(name: str) -> bool:
    """Copies lines between standard input and output and the socket in the name of an engine. Returns False at once if the name has none."""
    at = name.partition("://bridge:")[2]
    if not at:
        return False
    with Client(at) as to:

        def answers() -> None:
            for line in _lines(to):
                sys.stdout.buffer.write(line.encode())
                sys.stdout.buffer.flush()
            os._exit(1)  # the process with the client has ended

        threading.Thread(target=answers, daemon=True).start()
        for line in sys.stdin.buffer:
            to.send_bytes(line)
    return True


def _lines(of: Connection) -> Iterator[str]:
    with contextlib.suppress(EOFError, OSError):
        while True:
            yield of.recv_bytes().decode()


@contextlib.contextmanager
def served(kind: str, submit: Callable[..., None]) -> Iterator[str]:
    """Provides, for the duration of the block, the name of an engine of a kind whose tasks this process submits."""
    over = threading.Event()

    def accept() -> None:
        while not over.is_set():
            with listener.accept() as one:
                serve(submit, _lines(one), lambda text: one.send_bytes(text.encode()))

    with Listener() as listener:
        waits = threading.Thread(target=accept, daemon=True)
        waits.start()
        try:
            yield f"{kind}://bridge:{listener.address}"
        finally:
            over.set()
            Client(listener.address).close()  # wakes the thread that waits in accept
            waits.join()
