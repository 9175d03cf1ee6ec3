"""What speaks to Dask, Ray and Spark for ``gdsvd svd --engine``: names of tasks go to them, and answers come back. No numbers do."""
