"""``python -m gdsvd.engines ray ray://HOST:PORT PROGRAM`` (or ray-local): Ray workers do the tasks of standard input."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ._child import ask, ended, piped


def do(line: str, program: str) -> str:
    """Does a task in a Ray worker. The child gets the processors and the memory that Ray has assigned to the task."""
    import ray

    state: Any = ray.get_runtime_context()
    has = state.get_assigned_resources()
    return ask(line, program, int(has.get("memory", 0)), int(has["CPU"]))


def main(name: str, program: str) -> None:
    import ray as typed

    ray: Any = typed
    where = {"include_dashboard": False} if name == "ray-local" else {"address": name}
    ray.init(logging_level=logging.ERROR, log_to_driver=False, **where)
    # A task takes a processor, and 80 % of the memory per processor of the machine where that is smallest.
    has = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    memory = min((r.get("memory", 0) / r["CPU"] for r in has if "CPU" in r), default=0)
    task: Any = ray.remote(do).options(num_cpus=1, memory=int(memory * 0.8), max_retries=4, retry_exceptions=True)

    def submit(line: str, answer: Callable[[str], None], failed: Callable[[BaseException], None]) -> None:
        # Ray chooses the worker of a task.
        task.remote(line, program).future().add_done_callback(lambda future: ended([(line, answer, failed)], lambda: [future.result()]))

    piped(submit)
    ray.shutdown()
