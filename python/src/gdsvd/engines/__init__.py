"""Processes that submit the tasks of ``gdsvd svd --engine`` to Dask, Ray and Spark. Engines carry names of tasks and answers, no numbers."""
