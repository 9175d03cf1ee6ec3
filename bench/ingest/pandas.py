"""Ingest beside pandas: gdsvd and pandas.read_csv (C engine) with SciPy make a
sparse matrix from the same ratings, in turn.

    python3 bench/ingest/pandas.py ratings.dat -n 9 --gdsvd ./gdsvd -o bench/ingest/results/pandas.md

Of gdsvd it is the whole process: start, reading, writing the store, making it
durable. Of pandas it is the calls alone: reading, numbering the ids as gdsvd
does (factorize, sorted), COO to CSR, in memory. pandas takes separators of one
byte: "::" gives it two empty columns, which it is told to leave out. The other rows are
the same text with commas instead, and the same table as Parquet that pyarrow has written,
for both, where it is installed.
"""

import argparse
import importlib.util
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

PANDAS = """
import sys, time
import pandas as pd, scipy.sparse as sp
name, sep, use = sys.argv[1], sys.argv[2], [int(c) for c in sys.argv[3].split(',')]
t = time.perf_counter()
d = pd.read_parquet(name) if sep == 'parquet' else pd.read_csv(name, sep=sep, header=None, usecols=use)
d.columns = use
users, _ = pd.factorize(d[use[0]], sort=True)
items, _ = pd.factorize(d[use[1]], sort=True)
m = sp.coo_matrix((d[use[2]].values, (users, items))).tocsr()
m.sum_duplicates()
print(time.perf_counter() - t)
"""


def pandas(name, sep, columns):
    run = subprocess.run([sys.executable, "-c", PANDAS, name, sep, columns], capture_output=True, text=True, check=True)
    return float(run.stdout)


WRITE = """
import sys
import pandas as pd
pd.read_csv(sys.argv[1], header=None, usecols=[0, 1, 2], names=["user", "item", "rating"]).to_parquet(sys.argv[2], row_group_size=1 << 20)
"""


def gdsvd(program, name, store, *more):
    t = time.perf_counter()
    subprocess.run([program, "ingest", "-q", name, "-o", store, "--force", *more], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - t


def processor():
    with open("/proc/cpuinfo") as f:
        return re.search(r"model name\s*: (.*)", f.read())[1]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("ratings", help="text in the format of MovieLens 10M")
    p.add_argument("-n", type=int, default=9, help="rounds")
    p.add_argument("--gdsvd", default="gdsvd")
    p.add_argument("-o", help="table to write")
    a = p.parse_args()
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(a.ratings))) as tmp:
        commas = os.path.join(tmp, "ratings.csv")
        with open(a.ratings, "rb") as f, open(commas, "wb") as out:
            for line in f:
                out.write(line.replace(b"::", b","))
        ours, dat, csv, ours_parquet, parquet = [], [], [], [], []
        file = os.path.join(tmp, "ratings.parquet")
        if importlib.util.find_spec("pyarrow"):
            subprocess.run([sys.executable, "-c", WRITE, commas, file], check=True)
        for _ in range(a.n):
            ours.append(gdsvd(a.gdsvd, a.ratings, os.path.join(tmp, "store")))
            dat.append(pandas(a.ratings, ":", "0,2,4"))
            csv.append(pandas(commas, ",", "0,1,2"))
            if os.path.exists(file):
                ours_parquet.append(gdsvd(a.gdsvd, file, os.path.join(tmp, "store"), "--columns", "user,item,rating"))
                parquet.append(pandas(file, "parquet", "0,1,2"))
    size = os.path.getsize(a.ratings)

    def row(what, seconds):
        ratio = statistics.median(x / y for x, y in zip(seconds, ours))
        return f"| {what} | {statistics.median(seconds):.2f} | {min(seconds):.2f} … {max(seconds):.2f} | {ratio:.1f} |"

    table = [
        f"{time.strftime('%Y-%m-%d')}: {os.cpu_count()} cores of {processor()}. {size / 1e6:.0f} MB of text, {a.n} rounds, one after the other.",
        "",
        "| | median, s | from … to | times gdsvd's, median of the rounds |",
        "|---|---|---|---|",
        row("gdsvd ingest, the process", ours),
        row("pandas and SciPy", dat),
        row("the same, from commas", csv),
    ]
    if parquet:
        table += [row("gdsvd ingest of Parquet", ours_parquet), row("pandas and SciPy, from Parquet", parquet)]
    print("\n".join(table))
    if a.o:
        with open(a.o, "w") as f:
            f.write("\n".join(table) + "\n")


if __name__ == "__main__":
    main()
