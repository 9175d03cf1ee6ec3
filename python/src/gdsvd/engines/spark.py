"""``python -m gdsvd.engines spark spark://HOST:PORT PROGRAM`` (or spark-local): Spark executors do the tasks of standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ._child import Task, ask, ended, half, piped, together


def do(bundles: Iterable[list[str]], program: str, slots: int) -> list[str]:
    """Does bundles of tasks in a Python worker of a Spark executor. The workers of an executor share half of the memory; the JVM has the rest."""
    from pyspark import TaskContext

    threads = int(getattr(TaskContext.get(), "cpus")())
    return [ask(line, program, half(slots // threads), threads) for lines in bundles for line in lines]


def submitter(spark: Any, program: str) -> Callable[..., None]:
    """Returns a function that submits tasks to a session. A stage is a job with a partition for each bundle; any executor may do a partition."""
    slots, cores = int(spark.conf.get("spark.executor.cores", "0")), 0
    try:  # jobs on RDDs take half as long, but Spark Connect has no RDDs
        context = spark.sparkContext
        context.parallelize([0], 1)
    except Exception:  # by default a range has a partition for each core of the executors, which gives their number
        context, cores = None, spark.range(0, 1 << 16).selectExpr("spark_partition_id() AS p").agg({"p": "max"}).collect()[0][0] + 1

    def job(bundles: list[list[Task]]) -> None:
        lines, n = [[t[0] for t in b] for b in bundles], len(bundles)

        def batches(numbers: Iterator[Any]) -> Iterator[Any]:
            import pyarrow

            for batch in numbers:
                yield pyarrow.RecordBatch.from_pydict({"answer": do([lines[i] for i in batch.column(0).to_pylist()], program, slots)})

        if context is not None:
            answers = context.parallelize(lines, n).mapPartitions(lambda some: do(some, program, slots)).collect()
        else:
            answers = [row[0] for row in spark.range(0, n, 1, n).mapInArrow(batches, "answer string").collect()]
        ended(sum(bundles, []), lambda: answers)

    return together(job, lambda: cores or context.defaultParallelism)


def main(name: str, program: str) -> None:
    from pyspark.sql import SparkSession

    if "local" in name:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder.appName("gdsvd").config("spark.ui.showConsoleProgress", "false")
    rest = name.partition("://")[2]  # HOST:PORT, or another master: local[8], yarn, k8s://…, sc://… of Spark Connect
    master = "local[*, 4]" if not rest else rest if "[" in rest or "/" in rest or ":" not in rest else name
    spark = (builder.remote(rest) if rest.startswith("sc://") else builder.master(master)).getOrCreate()
    piped(submitter(spark, program))
    spark.stop()
