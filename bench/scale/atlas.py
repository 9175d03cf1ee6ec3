"""Generates counts of the shape of a cell atlas, ingests them, and computes 100 principal components within a memory limit.

    go build -o gdsvd ./cmd/gdsvd
    pip install python/ && python3 bench/scale/atlas.py make atlas.csr                        # --cells 2860352 for a quarter
    python3 bench/scale/atlas.py run --gdsvd ./gdsvd -o bench/scale/results/atlas atlas.csr   # Linux, root: the limit is the kernel's

The shape is that of the atlas for which NVIDIA publishes an out-of-core PCA: 11,441,407 cells reduced to 5,000 genes. The counts are
simulated. Each cell has one of 150 types of 12 lineages, some of which are a hundred times as frequent as others, and one of 50
programmes with a random weight. Its molecules are drawn from the profiles of both, which are log-normal over genes. The number of
molecules is log-normal, with a mean that gives a cell counts in 359 genes: the density of the 1.3 million brain cells of 10x Genomics
(2,624,828,308 counts of 1,306,127 cells and 27,998 genes, 7.18 %).

The components are those of `normalize=rows,total:10000 | log1p | center=columns`, which is normalize_total, log1p and pca of scanpy.
OUT.json has the measurements, OUT.md the table.
"""
import argparse
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time

CELLS, GENES, LINEAGES, TYPES, PROGRAMMES, BLOCK = 11_441_407, 5_000, 12, 150, 50, 8192
MOLECULES = 670  # mean number of molecules of a cell
VIEW = "normalize=rows,total:10000 | log1p | center=columns"


def profiles():
    """Returns, for every type and programme, the genes of 65,536 molecules in the proportions of its profile."""
    import numpy as np

    rng = np.random.default_rng(1)
    common = rng.normal(0, 1.8, GENES)
    tables = []
    lineages = rng.normal(0, 1, (LINEAGES, GENES)) * (rng.random((LINEAGES, GENES)) < 0.2)
    for i in range(TYPES + PROGRAMMES):
        own = rng.normal(0, 1, GENES) * (rng.random(GENES) < 0.5 * rng.random() ** 2)
        share = np.exp(common + own + (lineages[i % LINEAGES] if i < TYPES else 0))
        tables.append(np.searchsorted(np.cumsum(share / share.sum()), (np.arange(65536) + 0.5) / 65536, "right"))
    return np.minimum(tables, GENES - 1).astype(np.uint16).ravel()


def block(job):
    """Returns n cells of the atlas from cell first on, as CSR; job is (first, n)."""
    import numpy as np
    import scipy.sparse as sp

    first, n = job
    rng = np.random.default_rng([2, first])
    kind = (TYPES * rng.random(n) ** 2).astype(np.uint32)
    programme = TYPES + rng.integers(PROGRAMMES, size=n, dtype=np.uint32)
    weight = (rng.random(n) * 32768).astype(np.uint32)  # probability, in units of 1/65,536, that a molecule comes from the programme
    molecules = np.maximum(1, rng.lognormal(np.log(MOLECULES) - 0.125, 0.5, n)).astype(np.int64)
    cell = np.repeat(np.arange(n, dtype=np.uint32), molecules)
    of = np.where(rng.integers(65536, size=len(cell), dtype=np.uint16) < weight[cell], programme[cell], kind[cell])
    keys = tables[of * 65536 + rng.integers(65536, size=len(cell), dtype=np.uint16)] + cell * GENES
    keys.sort()
    at = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    counts = np.diff(np.append(at, len(keys))).astype(np.uint16)
    keys = keys[at]
    ptr = np.searchsorted(keys, np.arange(n + 1, dtype=np.uint32) * GENES)
    return sp.csr_matrix((counts, (keys % GENES).astype(np.int32), ptr), (n, GENES))


def make(o):
    """Generates the cells on all processors, and passes them to gdsvd block by block."""
    global tables
    import gdsvd

    tables = profiles()
    jobs = [(first, min(BLOCK, o.cells - first)) for first in range(0, o.cells, BLOCK)]
    with multiprocessing.get_context("fork").Pool() as pool:
        begun = time.monotonic()
        store = gdsvd.Store.from_chunks(pool.imap(block, jobs), o.store, shape=(o.cells, GENES), memory="1GiB")
    print(store, f"made and ingested in {time.monotonic() - begun:.0f} s")


def run(o):
    """Factorises every store once, and writes the table."""
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "auto"))
    from auto import throttled

    rows = []
    for store in o.stores:
        out = tempfile.mkdtemp(prefix="gdsvd-atlas-", dir=os.path.dirname(os.path.abspath(store)))
        args = [o.gdsvd, "svd", store, "-k", str(o.k), "-o", out + "/out", "-q", "--json", "--view", VIEW, "--tol", "1e-6", "--memory", o.memory]
        try:
            with throttled(store, o.limit, 0) as enter:
                begun = time.monotonic()
                child = subprocess.Popen(enter + args + o.flags.split(), stdout=subprocess.PIPE, text=True, env=os.environ | {"GOMAXPROCS": str(o.processors)})
                text = child.stdout.read()
                _, status, used = os.wait4(child.pid, 0)
                seconds = time.monotonic() - begun
            if status:
                raise SystemExit(f"{store}: gdsvd svd ended with status {os.waitstatus_to_exitcode(status)}")
            result = json.loads(text)
            bytes_ = sum(os.path.getsize(os.path.join(store, name)) for name in os.listdir(store))
            rows.append({"store": store, "bytes": bytes_, "seconds": seconds, "processor_seconds": used.ru_utime + used.ru_stime,
                         "resident": used.ru_maxrss * 1024, "limit": o.limit, "flags": " ".join(args[2:]) + " " + o.flags, "result": result})
            print(f"{store}: {seconds:.0f} s", flush=True)
        finally:
            shutil.rmtree(out)
    with open(o.out + ".json", "w") as f:
        json.dump(rows, f, indent=1)
    with open(o.out + ".md", "w") as f:
        f.write(f"{o.k} components of {VIEW}, {o.processors} processors, within {o.limit / 2**30:.3g} GiB, page cache included\n\n"
                "| store | cells | entries | GB | method | passes | seconds | processor seconds | resident MiB | largest residual |\n|" + "---|" * 10 + "\n")
        for r in rows:
            a = r["result"]
            f.write(f"| {os.path.basename(r['store'])} | {a['rows']:,} | {a['nnz']:,} | {r['bytes'] / 1e9:.2f} | `{' '.join(a['choice']['flags']) if 'choice' in a else o.flags}` | {a['passes']} "
                    f"| {r['seconds']:.0f} | {r['processor_seconds']:.0f} | {r['resident'] / 2**20:.0f} | {max(a['residual']):.1e} |\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    actions = parser.add_subparsers(required=True)
    action = actions.add_parser("make")
    action.add_argument("store", metavar="STORE")
    action.add_argument("--cells", type=int, default=CELLS)
    action.set_defaults(do=make)
    action = actions.add_parser("run")
    action.add_argument("stores", nargs="+", metavar="STORE")
    action.add_argument("--gdsvd", required=True)
    action.add_argument("-o", "--out", default="atlas")
    action.add_argument("-k", type=int, default=100)
    action.add_argument("--memory", default="3.75GiB")
    action.add_argument("--limit", type=int, default=4 << 30, help="bytes of the control group")
    action.add_argument("--processors", type=int, default=2)
    action.add_argument("--flags", default="", help="of gdsvd svd, besides")
    action.set_defaults(do=run)
    o = parser.parse_args()
    o.do(o)


if __name__ == "__main__":
    main()
