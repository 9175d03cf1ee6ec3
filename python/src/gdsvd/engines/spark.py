"""``python -m gdsvd.engines spark spark://HOST:PORT PROGRAM``, or spark-local: tasks of standard input, done by the executors of Spark."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ._child import Task, ask, ended, half, piped, together


def do(bundles: Iterable[list[str]], program: str, slots: int) -> list[str]:
    """Does bundles of tasks in a worker of Spark, one of several of an executor, whose JVM has half of its memory."""
    from pyspark import TaskContext

    threads = int(getattr(TaskContext.get(), "cpus")())
    return [ask(line, program, half(slots // threads), threads) for lines in bundles for line in lines]


def submitter(spark: Any, program: str) -> Callable[..., None]:
    """Submits tasks to a session: a stage is a job with a partition for each bundle, which any executor may do."""
    slots, cores = int(spark.conf.get("spark.executor.cores", "0")), 0
    try:  # Spark Connect has no RDDs, whose jobs take half as long
        context = spark.sparkContext
        context.parallelize([0], 1)
    except Exception:  # a range has by itself a partition for each core of the executors
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
