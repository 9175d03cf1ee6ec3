"""What speaks to Dask and Ray for ``gdsvd svd --engine``: names of tasks go to them, and answers come back. No numbers do."""
