"""Makes an h5ad file of random counts of cells of 64 types, and writes it block by block: python tests/cells.py OUT.h5ad

The frequency of type t is 0.93ᵗ times that of type 0. Each type has 150 marker genes, from which 40 % of the molecules of its cells are drawn;
the other molecules are drawn from a distribution that all cells share. So the leading singular values of the logarithms are well separated.
"""

import argparse

import h5py
import numpy as np
import scipy.sparse as sp

TYPES, MARKERS, MOLECULES = 64, 150, 1500  # MOLECULES: median number of a cell


def blocks(cells, genes, seed=1, molecules=MOLECULES, step=2000):
    """Yields the counts as CSR blocks of rows."""
    r = np.random.default_rng(seed)
    markers = np.stack([r.permutation(genes)[:MARKERS] for _ in range(TYPES)])
    frequency = 0.93 ** np.arange(TYPES)
    for at in range(0, cells, step):
        n = min(step, cells - at)
        kind = r.choice(TYPES, n, p=frequency / frequency.sum())
        drawn = np.maximum(1, r.lognormal(np.log(molecules), 0.3, n)).astype(int)
        cell = np.repeat(np.arange(n), drawn)
        gene = (genes * r.random(len(cell)) ** 2.5).astype(int)
        own = np.flatnonzero(r.random(len(cell)) < 0.4)
        gene[own] = markers[kind[cell[own]], r.integers(0, MARKERS, len(own))]
        yield sp.csr_matrix((np.ones(len(cell), np.float32), (cell, gene)), shape=(n, genes))


def frame(file, side, names):
    """Writes a table obs or var of AnnData that has names and no columns."""
    g = file.create_group(side)
    g.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index", "column-order": np.array([], h5py.string_dtype())})
    g["_index"] = np.array(names, dtype=object)
    g["_index"].attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})


def write(path, cells, genes, **how):
    """Writes the file, and returns the number of entries."""
    with h5py.File(path, "w") as h:
        h.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        frame(h, "obs", [f"cell{i}" for i in range(cells)])
        frame(h, "var", [f"gene{j}" for j in range(genes)])
        g = h.create_group("X")
        g.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": (cells, genes)})
        for name, dtype in (("data", "f4"), ("indices", "i4")):
            g.create_dataset(name, (0,), dtype, maxshape=(None,), chunks=(1 << 18,))
        ends, nnz = [np.zeros(1, np.int64)], 0
        for block in blocks(cells, genes, **how):
            for name in ("data", "indices"):
                g[name].resize((nnz + block.nnz,))
                g[name][nnz:] = getattr(block, name)
            ends.append(nnz + block.indptr[1:])
            nnz += block.nnz
        g["indptr"] = np.concatenate(ends)
    return nnz


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("out")
    p.add_argument("--cells", type=int, default=200_000)
    p.add_argument("--genes", type=int, default=20_000)
    args = p.parse_args()
    nnz = write(args.out, args.cells, args.genes)
    print(f"{args.out}: {args.cells} × {args.genes}, {nnz} entries, {nnz / args.cells / args.genes:.2%}")
