"""``python -m gdsvd.engines.spark spark://HOST:PORT PROGRAM``, or spark-local: tasks of standard input, done by the executors of Spark."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ._child import Task, ask, half, piped, together
from .bridge import bridged


def do(batches: Iterator[Any], lines: list[str], program: str, slots: int) -> Iterator[Any]:
    """Does the tasks of a partition in a worker of Spark, one of several of an executor, whose JVM has half of its memory."""
    import pyarrow
    from pyspark import TaskContext

    threads = int(getattr(TaskContext.get(), "cpus")())
    for batch in batches:
        answers = [ask(lines[i], program, half(slots // threads), threads) for i in batch.column(0).to_pylist()]
        yield pyarrow.RecordBatch.from_pydict({"answer": answers})


def submitter(spark: Any, program: str) -> Callable[..., None]:
    """Submits tasks to a session: those that come together are one job with a partition each, which any executor may do."""
    slots = int(spark.conf.get("spark.executor.cores", "0"))

    def job(tasks: list[Task]) -> None:
        lines, n = [t[0] for t in tasks], len(tasks)
        try:
            rows = spark.range(0, n, 1, n).mapInArrow(lambda batches: do(batches, lines, program, slots), "answer string").collect()
            for (_, answer, _), row in zip(tasks, rows, strict=True):
                answer(row[0])
        except BaseException as err:
            for _, _, failed in tasks:
                failed(err)

    return together(job)


def main(name: str, program: str) -> None:
    if bridged(name):
        return
    from pyspark.sql import SparkSession

    if "local" in name:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder.appName("gdsvd").config("spark.ui.showConsoleProgress", "false")
    rest = name.partition("://")[2]  # HOST:PORT, or another master: local[8], yarn, k8s://…, sc://… of Spark Connect
    master = "local[*, 4]" if not rest else rest if "[" in rest or "/" in rest or ":" not in rest else name
    spark = (builder.remote(rest) if rest.startswith("sc://") else builder.master(master)).getOrCreate()
    piped(submitter(spark, program))
    spark.stop()


if __name__ == "__main__":
    from gdsvd.engines import spark as module  # what workers import: what is in __main__ would be sent to them

    module.main(*sys.argv[1:])
