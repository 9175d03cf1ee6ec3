"""Run gdsvd.pp.pca on an h5ad file, or scanpy.pp.pca on the same file in memory. The process is meant to run under a memory limit.

    python python/tests/cells.py cells.h5ad                                        # 200,000 × 20,000, 197,413,297 entries
    systemd-run --user --scope -p MemoryMax=1G python python/bench_pca.py gdsvd cells.h5ad
    systemd-run --user --scope -p MemoryMax=1G python python/bench_pca.py scanpy cells.h5ad
    python python/bench_pca.py compare cells.h5ad                                  # without a limit: the differences of the results

The printed peaks are those of the resident memory of this process and of the gdsvd program.
"""

import argparse
import resource
import time

import numpy as np


def scanpy_of(path, dtype):
    import anndata
    import scanpy as sc

    a = anndata.read_h5ad(path)
    a.X = a.X.astype(dtype)
    sc.pp.normalize_total(a)
    sc.pp.log1p(a)
    sc.pp.pca(a, n_comps=50, dtype=dtype)
    return a


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=["gdsvd", "scanpy", "compare"])
    p.add_argument("file")
    p.add_argument("--dtype", default="float32")
    args = p.parse_args()
    begun = time.perf_counter()
    if args.what == "gdsvd":
        import gdsvd

        gdsvd.pp.pca(args.file, 50, "single-cell", dtype=args.dtype)
    elif args.what == "scanpy":
        scanpy_of(args.file, args.dtype)
    else:
        import anndata

        ours, theirs = anndata.read_h5ad(args.file, backed="r"), scanpy_of(args.file, args.dtype)
        signs = np.sign(np.sum(ours.varm["PCs"] * theirs.varm["PCs"], axis=0))
        x = theirs.obsm["X_pca"] * signs
        print("X_pca, relative to the largest:", np.abs(ours.obsm["X_pca"] - x).max() / np.abs(x).max())
        print("PCs:", np.abs(ours.varm["PCs"] - theirs.varm["PCs"] * signs).max())
        print("variance, relative:", np.abs(ours.uns["pca"]["variance"] / theirs.uns["pca"]["variance"] - 1).max())
    own, program = (resource.getrusage(who).ru_maxrss >> 10 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(f"{time.perf_counter() - begun:.0f} s; at most {own} MiB in this process, {program} MiB in the program")


if __name__ == "__main__":
    main()
