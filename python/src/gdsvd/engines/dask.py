"""``python -m gdsvd.engines dask dask://HOST:PORT PROGRAM`` (or dask-local): Dask workers do the tasks of standard input."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

from ._child import Task, ask, ended, piped, together


def do(lines: list[str], program: str) -> list[str]:
    """Does tasks in a Dask worker. The child gets the threads of the worker and 80 % of its memory limit."""
    import distributed

    state: Any = distributed.get_worker()
    limit = state.memory_manager.memory_limit or 0
    return [ask(line, program, int(limit * 0.8), state.state.nthreads) for line in lines]


def submitter(client: Any, program: str) -> Callable[..., None]:
    """Returns a function that submits tasks to a client."""

    def job(bundles: list[list[Task]]) -> None:
        # Dask chooses the workers of tasks: a worker to which tasks were pinned might be lost.
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        going = {client.submit(do, [t[0] for t in b], program, pure=False, retries=4): b for b in bundles}
        for future in going:
            future.add_done_callback(done.put)
        for _ in bundles:
            future = done.get()
            ended(going[future], future.result)

    return together(job, lambda: len(client.nthreads()))


def main(name: str, program: str) -> None:
    from distributed import Client, LocalCluster

    if name == "dask-local":
        client: Any = Client(LocalCluster(threads_per_worker=1, dashboard_address=None))  # type: ignore[no-untyped-call]
    else:
        client = Client("tcp://" + name.split("://", 1)[1])  # type: ignore[no-untyped-call]
    piped(submitter(client, program))
    client.close()
    if client.cluster is not None:
        client.cluster.close()
