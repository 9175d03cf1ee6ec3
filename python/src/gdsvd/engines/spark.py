"""``python -m gdsvd.engines.spark spark://HOST:PORT PROGRAM``, or spark-local: tasks of standard input, done by the executors of Spark."""

from __future__ import annotations

import functools
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ._child import Task, ask, ended, half, piped, together
from .bridge import bridged


def do(bundles: Iterator[list[str]], program: str, slots: int) -> Iterator[str]:
    """Does bundles of tasks in a worker of Spark, one of several of an executor, whose JVM has half of its memory."""
    from pyspark import TaskContext

    threads = int(getattr(TaskContext.get(), "cpus")())
    for lines in bundles:
        yield from (ask(line, program, half(slots // threads), threads) for line in lines)


def arrow(batches: Iterator[Any], bundles: list[list[str]], program: str, slots: int) -> Iterator[Any]:
    """Does those whose numbers are in batches of Arrow."""
    import pyarrow

    for batch in batches:
        answers = list(do((bundles[i] for i in batch.column(0).to_pylist()), program, slots))
        yield pyarrow.RecordBatch.from_pydict({"answer": answers})


def submitter(spark: Any, program: str) -> Callable[..., None]:
    """Submits tasks to a session: a stage is a job with a partition for each bundle, which any executor may do."""
    slots = int(spark.conf.get("spark.executor.cores", "0"))
    try:
        context = spark.sparkContext
    except Exception:  # Spark Connect has neither it nor RDDs, whose jobs take half as long
        context = None

    def job(bundles: list[list[Task]]) -> None:
        lines, n = [[t[0] for t in b] for b in bundles], len(bundles)
        if context is not None:
            answers = context.parallelize(lines, n).mapPartitions(functools.partial(do, program=program, slots=slots)).collect()
        else:
            rows = spark.range(0, n, 1, n).mapInArrow(lambda batches: arrow(batches, lines, program, slots), "answer string").collect()
            answers = [row[0] for row in rows]
        ended(itertools.chain(*bundles), lambda: answers)

    return together(job, lambda: context.defaultParallelism // max(1, int(spark.conf.get("spark.task.cpus", "1"))) if context is not None else 0)


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
