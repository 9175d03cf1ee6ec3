#!/usr/bin/env python3
"""Compare gdsvd with other programs: leading singular triplets, reading a table into a sparse matrix, nearest columns.

  peers.py setup  --venv DIR                       install the programs that pip can install
  peers.py run    --venv DIR --gdsvd PATH --out DIR STORE...

`run` measures every program in each contest that it supports. Each measurement is a process of its own with --threads
threads, and the order is drawn anew in each round. The results are written to peers.json and peers.md in --out. README.md
describes what is measured.
"""

import argparse
import json
import os
import pathlib
import platform
import random
import shlex
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
# Each list is installed by a call of pip of its own, so that a failure does not prevent the installation of the others.
PACKAGES = [["numpy", "scipy", "scikit-learn"], ["primme"], ["gensim"], ["fbpca"], ["pandas", "pyarrow"], ["polars"], ["duckdb"], ["implicit"]]
PYTHON = ["scipy-arpack", "scipy-arpack-1e-8", "scipy-propack", "scipy-lobpcg", "primme", "sklearn-randomized",
          "sklearn-randomized-30", "sklearn-truncated", "gensim-stochastic", "fbpca", "dashsvd", "dashsvd-1e-12"]
R = ["r-irlba", "r-irlba-1e-8", "r-rspectra", "r-bpcells-disk", "r-bpcells-memory"]
THREADS = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS", "GOMAXPROCS"]
NEIGHBOURS = 10


def setup(args):
    subprocess.run([sys.executable, "-m", "venv", args.venv], check=True)
    pip = [str(pathlib.Path(args.venv, "bin", "pip")), "install", "-q"]
    for packages in PACKAGES:
        if subprocess.run(pip + packages).returncode:
            print("not installed:", *packages, file=sys.stderr)


class Failed(Exception):
    pass


class Bench:
    def __init__(self, args):
        self.args = args
        self.out = pathlib.Path(args.out).resolve()
        self.python = str(pathlib.Path(args.venv, "bin", "python"))
        self.prefix = shlex.split(args.prefix)
        # Variables such as OPENBLAS_CORETYPE are meant for other programs of the machine, and must not affect the measured ones.
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")} | {name: str(args.threads) for name in THREADS}
        self.runs = []

    def call(self, command, env=None):
        """Run a command; return its standard output."""
        try:
            p = subprocess.run(self.prefix + command, env=self.env | (env or {}), capture_output=True, text=True, timeout=self.args.limit)
        except subprocess.TimeoutExpired:
            raise Failed(f"more than {self.args.limit:.0f} s")
        if p.returncode:
            raise Failed(f"exit {p.returncode}: {(p.stderr.strip().splitlines() or [''])[-1]}")
        return p.stdout

    def clocked(self, command):
        """Run a whole process; return its time and memory, and its output."""
        # The clock starts inside the --prefix command, so that time in which that command waits is not counted.
        timed, text = self.call([sys.executable, str(HERE / "peers.py"), "clock", "--"] + command).split("\n", 1)
        return json.loads(timed), text

    def peer(self, *args, env=None):
        return json.loads(self.call([self.python, str(HERE / "peer.py"), *map(str, args)], env))

    def checked(self, code, *args):
        return json.loads(self.call([self.python, "-c", code, str(HERE), *map(str, args)]))

    # A method for each contest prepares the inputs and returns its entries: (group of the table, name of the program, function of the round).

    def factorise(self):
        names = ["gdsvd-" + m for m in self.args.methods.split(",")] + PYTHON
        if shutil.which("Rscript"):
            names += R
        entries = []
        for store in self.args.stores:
            matrix = self.out / pathlib.Path(store).stem
            matrix.mkdir(exist_ok=True)
            subprocess.run([self.args.gdsvd, "export", "-q", store, "--force", "-o", str(matrix / "m.npz")], check=True, stdout=subprocess.DEVNULL)
            subprocess.run([self.python, "-c", ARRAYS, str(matrix)], check=True)
            if "r-bpcells-disk" in names:  # if BPCells is missing, this fails, and its rows of the table say so
                subprocess.run(["Rscript", str(HERE / "peer.R"), "bpcells-store", str(matrix)], capture_output=True)
            for k in map(int, self.args.ranks.split(",")):
                for name in names:
                    one = self.gdsvd if name.startswith("gdsvd-") else self.r if name.startswith("r-") else self.numpy
                    entries.append((f"{matrix.name}, k = {k}", name, lambda turn, a=(one, name, store, matrix, k): a[0](*a[1:], turn)))
        return entries

    def numpy(self, name, store, matrix, k, seed):
        return self.peer("factorise", name, matrix, k, seed)

    def r(self, name, store, matrix, k, seed):
        scratch = self.out / "scratch"
        text = self.call(["Rscript", str(HERE / "peer.R"), name, str(matrix), str(k), str(seed), str(scratch)])
        return json.loads(text) | self.checked(CHECK_RAW, matrix, k, scratch)

    def gdsvd(self, name, store, matrix, k, seed):
        method, scratch = name.removeprefix("gdsvd-"), self.out / "scratch.svd"
        command = [self.args.gdsvd, "svd", "-q", "--json", store, "-k", str(k), "-o", str(scratch), "--force", "--seed", str(seed)]
        used, text = self.clocked(command + (["--method", method] if method != "default" else []))
        result = json.loads(text)
        return used | {"solver_seconds": result["seconds"]["total"], "passes": result["passes"], "certificate": max(result["residual"])} | self.checked(CHECK_NPY, matrix, scratch)

    def ingest(self):
        """Ingest ten million ratings: ordered by user in MovieLens's text format, and shuffled as CSV and Parquet, with integer or text ids."""
        where = self.out / "tables"
        where.mkdir(exist_ok=True)
        files = {name: str(where / name) for name in ("ratings.dat", "numbers.csv", "numbers.parquet", "text.parquet")}
        if not all(map(os.path.exists, files.values())):
            subprocess.run([self.args.gdsvd, "generate", "ratings", "-q", "--force", "-o", files["ratings.dat"]], check=True, stdout=subprocess.DEVNULL)
            subprocess.run([self.python, "-c", SHUFFLED, str(where)], check=True)
        entries = []
        for what, file in files.items():
            names = ["gdsvd"] + (["pandas"] if file.endswith(".dat") else ["pandas", "polars", "duckdb"])
            entries += [(f"ingest {what}", name, lambda turn, name=name, file=file: self.read(name, file)) for name in names]
        return entries

    def read(self, name, file):
        store = str(self.out / "scratch.csr")
        if name == "gdsvd":
            command = [self.args.gdsvd, "ingest", "-q", file, "-o", store, "--force"] + ([] if file.endswith(".dat") else ["--columns", "user,item,rating"])
            used, _ = self.clocked(command)
            info = json.loads(self.call([self.args.gdsvd, "info", store, "--json"]))
            return used | {"matrix": [info["rows"], info["cols"], info["nnz"], info["sum_squares"]]}
        return self.peer("ingest", name, file)

    def similar(self):
        entries = []
        for store in self.args.stores:
            result = self.out / (pathlib.Path(store).stem + ".svd")
            subprocess.run([self.args.gdsvd, "svd", "-q", store, "-k", "50", "-o", str(result), "--force"], check=True, stdout=subprocess.DEVNULL)
            for name in ("gdsvd-parquet", "gdsvd-csv", "implicit"):
                entries.append((f"similar columns of {pathlib.Path(store).stem}", name, lambda turn, a=(name, store, result): self.neighbours(*a)))
        return entries

    def neighbours(self, name, store, result):
        if name == "implicit":  # implicit has its own threads, and warns that threads of the BLAS slow them down
            return self.peer("similar", name, result, NEIGHBOURS, env={"OPENBLAS_NUM_THREADS": "1"})
        file = self.out / ("scratch." + name.removeprefix("gdsvd-"))
        used, _ = self.clocked([self.args.gdsvd, "similar", str(result), "--col", "all", "-n", str(NEIGHBOURS), "--workers", str(self.args.threads), "-o", str(file), "--force", "-q"])
        ids = self.out / "scratch.ids"
        ids.write_text(self.call([self.args.gdsvd, "info", store, "--ids", "cols"]))
        return used | self.checked(CHECK_NEIGHBOURS, result, NEIGHBOURS, file, ids)

    def run(self):
        self.out.mkdir(parents=True, exist_ok=True)
        entries = [(contest, *e) for contest in self.args.contests.split(",") for e in getattr(self, contest)()]
        if self.args.only:
            entries = [e for e in entries if e[2] in self.args.only.split(",")]
        machine, failed = self.machine(), set()
        for turn in range(self.args.rounds):
            for contest, group, name, one in random.Random(turn).sample(entries, len(entries)):
                if (group, name) in failed:
                    continue
                r = {"contest": contest, "group": group, "name": name, "round": turn, "load": os.getloadavg()[0]}
                try:
                    r |= one(turn)
                except Failed as why:
                    failed.add((group, name))
                    r["failed"] = str(why)
                self.runs.append(r)
                print(turn, group, name, r.get("failed") or f"{r['seconds']:.2f} s, processor {r['cpu_seconds']:.2f} s", file=sys.stderr, flush=True)
                (self.out / "peers.json").write_text(json.dumps({"machine": machine, "runs": self.runs}) + "\n")
                (self.out / "peers.md").write_text(table(machine, self.runs))

    def machine(self):
        return {"processor": processor(), "cores": os.cpu_count(), "threads": self.args.threads, "system": platform.platform(),
                   "date": time.strftime("%Y-%m-%d"), "commit": output(["git", "-C", str(HERE), "describe", "--always", "--dirty"]),
                   "versions": output([self.python, "-m", "pip", "list", "--format=freeze"]).split()}


def table(machine, runs):
    loads = [r["load"] for r in runs]
    lines = [f"{machine['processor']}, {machine['threads']} threads of {machine['cores']}, {machine['date']}, commit {machine['commit']}. Medians of up to "
             f"{max(r['round'] for r in runs) + 1} rounds. Load average before each run: median {statistics.median(loads):.1f}, {min(loads):.1f} to {max(loads):.1f}.", ""]
    groups = {}
    for r in runs:
        groups.setdefault((r["contest"], r["group"]), {}).setdefault(r["name"], []).append(r)
    for (contest, group), names in sorted(groups.items()):
        ours = min((median(rs, "cpu_seconds") for name, rs in names.items() if name.startswith("gdsvd")), default=float("inf"))
        lines += [f"## {group}", "", f"| | runs | seconds | processor s | of gdsvd's | {WORTH[contest][0]} | peak MiB |", "|---|---:|---:|---:|---:|---:|---:|"]
        lines += [row(name, rs, ours, WORTH[contest][1]) for name, rs in sorted(names.items(), key=lambda m: median(m[1], "cpu_seconds"))] + [""]
    return "\n".join(lines)


# The column of the quality of a result in each contest: its heading, and the worst value of all rounds.
WORTH = {
    "factorise": ("residual", lambda rs: f"{max(r['residual'] for r in rs):.1e}"),
    "ingest": ("rows × columns, entries, Σ squares", lambda rs: "; ".join(sorted({"{} × {}, {}, {}".format(*r["matrix"]) for r in rs}))),
    "similar": ("right", lambda rs: f"{min(r['right'] for r in rs):.4%}"),
}


def median(runs, field):
    return statistics.median([r[field] for r in runs if "failed" not in r] or [float("inf")])


def row(name, runs, ours, worth):
    good = [r for r in runs if "failed" not in r]
    if not good:
        return f"| {name} | | {runs[-1]['failed']} | | | | |"
    cpu = median(good, "cpu_seconds")
    return f"| {name} | {len(good)} | {median(good, 'seconds'):.2f} | {cpu:.2f} | {cpu / ours:.1f} | {worth(good)} | {median(good, 'peak_rss') / 2**20:.0f} |"


# ARRAYS splits m.npz into shape.json and the little-endian files indptr.i32, indices.i32 and data.f64, with the rows as they are stored.
ARRAYS = """
import json, pathlib, sys
import scipy.sparse as sp

d = pathlib.Path(sys.argv[1])
m = sp.load_npz(d / "m.npz")  # CSC of a store that has the columns as its rows
rows, cols = m.shape if m.format == "csr" else m.shape[::-1]
if max(m.nnz, cols) >= 2**31:
    sys.exit(f"{d}: {m.nnz} entries, {cols} columns: the other programs count with 32 bits")
(d / "shape.json").write_text(json.dumps({"rows": rows, "cols": cols, "nnz": m.nnz}, separators=(",", ":")))
for name, x, kind in ("indptr.i32", m.indptr, "<i4"), ("indices.i32", m.indices, "<i4"), ("data.f64", m.data, "<f8"):
    x.astype(kind).tofile(d / name)
"""

SHUFFLED = """
import sys
import pandas as pd

where = sys.argv[1]
d = pd.read_csv(where + "/ratings.dat", sep=":", header=None, usecols=[0, 2, 4])
d.columns = ["user", "item", "rating"]
d = d.sample(frac=1, random_state=1, ignore_index=True)
for name in "numbers", "text":
    if name == "numbers":
        d.to_csv(f"{where}/{name}.csv", index=False)
    d.to_parquet(f"{where}/{name}.parquet", index=False, row_group_size=1 << 20)
    for side in "user", "item":
        d[side] = side + "-" + d[side].astype(str).str.zfill(8)
"""

CHECK_NPY = """
import json, sys, numpy as np
sys.path.insert(0, sys.argv[1])
import peer
a = peer.load(sys.argv[2])
u, s, v = (np.load(f"{sys.argv[3]}/{n}.npy") for n in ("U", "sigma", "V"))
if u.shape[0] != a.shape[0]:
    u, v = v, u
print(json.dumps({"residual": float(peer.residuals(a, u, s, v).max()), "sigma": s.tolist()}))
"""

CHECK_RAW = """
import json, sys, numpy as np
sys.path.insert(0, sys.argv[1])
import peer
a, k, x = peer.load(sys.argv[2]), int(sys.argv[3]), np.fromfile(sys.argv[4])
s, u, v = x[:k], x[k:k + k * a.shape[0]].reshape(k, -1).T, x[k + k * a.shape[0]:].reshape(k, -1).T
print(json.dumps({"residual": float(peer.residuals(a, u, s, v).max()), "sigma": sorted(s.tolist(), reverse=True)}))
"""


CHECK_NEIGHBOURS = """
import json, sys, numpy as np, pandas as pd
sys.path.insert(0, sys.argv[1])
import peer
result, n, file = sys.argv[2], int(sys.argv[3]), sys.argv[4]
table = (pd.read_csv if file.endswith(".csv") else pd.read_parquet)(file)
vectors = np.load(f"{result}/V.npy") * np.load(f"{result}/sigma.npy")
ids = np.loadtxt(sys.argv[5], dtype=np.int64)
order = np.argsort(ids)
code = lambda x: order[np.searchsorted(ids, x, sorter=order)]
lists = np.repeat(np.arange(len(vectors))[:, None], n, 1)
lists[code(table["column"]), table["rank"] - 1] = code(table["similar"])
print(json.dumps({"right": peer.right(vectors, n, lists)}))
"""


def clock(args):
    """Time a command from its start to its end, and pass on what it prints."""
    began = time.perf_counter()
    p = subprocess.Popen(args.command, stdout=subprocess.PIPE, text=True)
    text = p.stdout.read()
    _, status, usage = os.wait4(p.pid, 0)
    wall = time.perf_counter() - began
    print(json.dumps({"seconds": wall, "cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_rss": usage.ru_maxrss * 1024}))
    print(text)
    sys.exit(os.waitstatus_to_exitcode(status))


def output(command):
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def processor():
    for line in open("/proc/cpuinfo", encoding="utf-8"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = p.add_subparsers(dest="what", required=True)
    s = sub.add_parser("setup")
    s.add_argument("--venv", required=True)
    c = sub.add_parser("clock")
    c.add_argument("command", nargs="+")
    r = sub.add_parser("run")
    r.add_argument("stores", nargs="+", metavar="STORE")
    r.add_argument("--venv", required=True)
    r.add_argument("--gdsvd", default="gdsvd", help="the program")
    r.add_argument("--methods", default="default", help="methods of gdsvd, separated by commas; default is its own choice")
    r.add_argument("--contests", default="factorise,ingest,similar", help="separated by commas")
    r.add_argument("--only", default="", help="names of methods and peers, separated by commas")
    r.add_argument("--ranks", default="10,50")
    r.add_argument("--rounds", type=int, default=5)
    r.add_argument("--threads", type=int, default=2)
    r.add_argument("--limit", type=float, default=600, help="seconds a run may take, waiting included")
    r.add_argument("--prefix", default="", help="a command to run every measurement under")
    r.add_argument("--out", required=True)
    args = p.parse_args()
    {"setup": setup, "clock": clock, "run": lambda a: Bench(a).run()}[args.what](args)


if __name__ == "__main__":
    main()
