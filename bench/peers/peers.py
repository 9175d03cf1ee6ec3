#!/usr/bin/env python3
"""Compare gdsvd with other programs for the leading singular triplets.

  peers.py setup  --venv DIR                       install what can be installed
  peers.py run    --venv DIR --gdsvd PATH --out DIR STORE...

`run` exports every store, factorises it by every peer and by gdsvd in turn,
each time in a process of its own with two threads, and writes peers.json and
peers.md into --out. See README.md for what is measured.
"""

import argparse
import json
import os
import pathlib
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
# One line of pip each: one that fails must not keep the others from being installed.
PACKAGES = [["numpy", "scipy", "scikit-learn"], ["primme"], ["gensim"], ["fbpca"], ["sparsesvd"]]
PYTHON = ["scipy-arpack", "scipy-arpack-1e-8", "scipy-propack", "scipy-lobpcg", "primme", "sklearn-randomized",
          "sklearn-randomized-30", "sklearn-truncated", "gensim-stochastic", "fbpca"]
R = ["r-irlba", "r-irlba-1e-8", "r-rspectra"]
THREADS = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "GOMAXPROCS"]


def setup(args):
    subprocess.run([sys.executable, "-m", "venv", args.venv], check=True)
    pip = [str(pathlib.Path(args.venv, "bin", "pip")), "install", "-q"]
    for packages in PACKAGES:
        if subprocess.run(pip + packages).returncode:
            print("not installed:", *packages, file=sys.stderr)


class Bench:
    def __init__(self, args):
        self.args = args
        self.out = pathlib.Path(args.out)
        self.python = str(pathlib.Path(args.venv, "bin", "python"))
        self.prefix = shlex.split(args.prefix)
        self.env = os.environ | {name: str(args.threads) for name in THREADS}
        self.runs = []

    def call(self, command):
        """Run a command; return its standard output, or None and why."""
        try:
            p = subprocess.run(self.prefix + command, env=self.env, capture_output=True, text=True, timeout=self.args.limit)
        except subprocess.TimeoutExpired:
            return None, f"more than {self.args.limit} s"
        if p.returncode:
            lines = p.stderr.strip().splitlines()
            return None, f"exit {p.returncode}: {lines[-1] if lines else ''}"
        return p.stdout, None

    def methods(self):
        names = ["gdsvd-" + m for m in self.args.methods.split(",")] + PYTHON
        if shutil.which("Rscript"):
            names += R
        if self.args.only:
            names = [n for n in names if n in self.args.only.split(",")]
        return names

    def one(self, name, store, k, seed):
        matrix = str(self.out / pathlib.Path(store).stem)
        scratch = self.out / "scratch"
        if name.startswith("gdsvd-"):
            return self.gdsvd(name.removeprefix("gdsvd-"), store, matrix, k, seed, scratch)
        if name.startswith("r-"):
            text, why = self.call(["Rscript", str(HERE / "peer.R"), name, matrix, str(k), str(seed), str(scratch)])
            return self.checked(text, why, matrix, k, scratch)
        text, why = self.call([self.python, str(HERE / "peer.py"), name, matrix, str(k), str(seed)])
        return json.loads(text) if text else {"failed": why}

    def gdsvd(self, method, store, matrix, k, seed, scratch):
        shutil.rmtree(scratch, ignore_errors=True)
        # The clock runs inside the prefix, so that waiting for a turn is not counted.
        command = [self.args.gdsvd, "svd", "-q", "--json", store, "-k", str(k), "-o", str(scratch), "--seed", str(seed)]
        if method != "default":
            command += ["--method", method]
        text, why = self.call([sys.executable, str(HERE / "peers.py"), "clock", "--"] + command)
        if not text:
            return {"failed": why}
        timed, result = map(json.loads, text.split("\n", 1))
        check, why = self.call([self.python, "-c", CHECK_NPY, str(HERE), matrix, str(scratch)])
        shutil.rmtree(scratch)
        if not check:
            return {"failed": why}
        return {"seconds": timed["wall"], "cpu_seconds": timed["cpu"], "solver_seconds": result["seconds"]["total"],
                "peak_rss": timed["peak_rss"], "passes": result["passes"], "certificate": max(result["residual"])} | json.loads(check)

    def checked(self, text, why, matrix, k, scratch):
        if text:
            check, why = self.call([self.python, "-c", CHECK_RAW, str(HERE), matrix, str(k), str(scratch)])
            scratch.unlink()
            if check:
                return json.loads(text) | json.loads(check)
        return {"failed": why}

    def run(self):
        self.out.mkdir(parents=True, exist_ok=True)
        for store in self.args.stores:
            arrays = self.out / pathlib.Path(store).stem
            arrays.mkdir(exist_ok=True)
            subprocess.run([self.args.gdsvd, "export", "-q", store, "--force", "-o", str(arrays / "m.npz")], check=True)
            subprocess.run([self.python, "-c", ARRAYS, str(arrays)], check=True)
        names = self.methods()
        failed = set()
        for turn in range(self.args.rounds):
            for store in self.args.stores:
                for k in map(int, self.args.ranks.split(",")):
                    # Everyone goes first now and then.
                    for name in names[turn % len(names):] + names[: turn % len(names)]:
                        key = (pathlib.Path(store).stem, k, name)
                        if key in failed:
                            continue
                        r = self.one(name, store, k, seed=turn)
                        if "failed" in r:
                            failed.add(key)
                        self.runs.append({"matrix": key[0], "k": k, "method": name, "round": turn} | r)
                        print(*key, r.get("failed") or f"{r['seconds']:.2f} s, residual {r['residual']:.1e}", file=sys.stderr, flush=True)
                        self.write()

    def write(self):
        machine = {"processor": processor(), "cores": os.cpu_count(), "threads": self.args.threads, "system": platform.platform(),
                   "date": time.strftime("%Y-%m-%d"), "commit": output(["git", "-C", str(HERE), "describe", "--always", "--dirty"]),
                   "versions": output([self.python, "-m", "pip", "list", "--format=freeze"]).split()}
        (self.out / "peers.json").write_text(json.dumps({"machine": machine, "runs": self.runs}, indent=1) + "\n")
        (self.out / "peers.md").write_text(self.table(machine))

    def table(self, machine):
        lines = [f"{machine['processor']}, {machine['threads']} threads of {machine['cores']}, {machine['date']}, commit {machine['commit']}. "
                 f"Median of up to {self.args.rounds} runs.", ""]
        groups = {}
        for r in self.runs:
            groups.setdefault((r["matrix"], r["k"]), {}).setdefault(r["method"], []).append(r)
        for (matrix, k), methods in groups.items():
            lines += [f"## {matrix}, k = {k}", "", "| | seconds | processor s | residual | peak MiB |", "|---|---:|---:|---:|---:|"]
            lines += [row(name, runs) for name, runs in sorted(methods.items(), key=lambda m: median(m[1], "seconds"))] + [""]
        return "\n".join(lines)


def median(runs, field):
    return statistics.median([r[field] for r in runs if "failed" not in r] or [float("inf")])


def row(name, runs):
    good = [r for r in runs if "failed" not in r]
    if not good:
        return f"| {name} | {runs[-1]['failed']} | | | |"
    worst = max(r["residual"] for r in good)
    return f"| {name} | {median(good, 'seconds'):.2f} | {median(good, 'cpu_seconds'):.2f} | {worst:.1e} | {median(good, 'peak_rss') / 2**20:.0f} |"


# ARRAYS takes m.npz apart: shape.json, and little-endian indptr.i32, indices.i32 and data.f64, the rows of the matrix as stored.
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


def clock(args):
    """Time a command from its start to its end, and pass on what it prints."""
    began = time.perf_counter()
    p = subprocess.Popen(args.command, stdout=subprocess.PIPE, text=True)
    text = p.stdout.read()
    _, status, usage = os.wait4(p.pid, 0)
    wall = time.perf_counter() - began
    print(json.dumps({"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "peak_rss": usage.ru_maxrss * 1024}))
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
    r.add_argument("--only", default="", help="names of methods and peers, separated by commas")
    r.add_argument("--ranks", default="10,50")
    r.add_argument("--rounds", type=int, default=3)
    r.add_argument("--threads", type=int, default=2)
    r.add_argument("--limit", type=float, default=600, help="seconds a run may take, waiting included")
    r.add_argument("--prefix", default="", help="a command to run every measurement under")
    r.add_argument("--out", required=True)
    args = p.parse_args()
    {"setup": setup, "clock": clock, "run": lambda a: Bench(a).run()}[args.what](args)


if __name__ == "__main__":
    main()
