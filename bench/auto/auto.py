"""Measures gdsvd svd --method auto against every fixed choice of a grid, and reports whether its time is within 1.3 times the best.

    go build -o gdsvd ./cmd/gdsvd
    python3 bench/auto/auto.py --gdsvd ./gdsvd -o auto -k 10,50 ml1m.csr mnist.csr slashdot.csr
    python3 bench/auto/auto.py --gdsvd ./gdsvd -o auto-disk --memory 134217728 --rate 250000000 large.csr

The grid: krylov with 1, 2, 4, 8, 16 and 32 columns a pass and the default basis, the widest four also with a small basis;
block with k + max(10, k/4), 2k and 3k columns; with --all also nesterov and power, with one vector at a time, a hundred times slower.

Every round runs auto and all choices once, each in a process of its own, in an order drawn from --seed. The result is the median
over the rounds of the seconds from start to exit, or with --loaded of the processor seconds divided by the number of processors.
Without --loaded, a choice whose first run takes --give-up times the best median so far is stopped and not run again; auto never is.

With --rate a control group (Linux, root) limits the bytes a second that a run may read from the disk, and its memory to --memory,
page cache included; the run begins with a cold cache. OUT.json has all numbers, OUT.md the tables.
"""
import argparse
import contextlib
import json
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time

AUTO, WITHIN = "--method auto", 1.3


def grid(k, one):
    """Returns the flags of the fixed choices; if `one`, also those of the methods of one vector."""
    flags = [f"krylov --block {b}" for b in (1, 2, 4, 8, 16, 32)]
    flags += [f"krylov --block {b} --basis {k + max(12, k // 4) + 2 * b}" for b in (4, 8, 16, 32)]
    flags += [f"block --block {width}" for width in dict.fromkeys((k + max(10, k // 4), 2 * k, 3 * k))]
    return ["--method " + f for f in flags + ["nesterov", "power"] * one]


def groups(store, memory, rate):
    """Returns the directories of a control group, of version 1 or 2, with the limits to write into each."""
    root, name = "/sys/fs/cgroup", f"gdsvd-auto-{os.getpid()}"
    second = os.path.exists(root + "/cgroup.controllers")
    if not rate:
        return {f"{root}/{name}": {"memory.max": memory}} if second else {f"{root}/memory/{name}": {"memory.limit_in_bytes": memory}}
    number = os.stat(store).st_dev
    disk = os.path.realpath(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if os.path.exists(disk + "/partition"):
        disk = os.path.dirname(disk)
    if not os.path.exists(disk + "/dev"):
        raise SystemExit(f"{store} is not on a disk of its own whose reads can be limited")
    with open(disk + "/dev") as f:
        disk = f.read().strip()
    if second:
        return {f"{root}/{name}": {"memory.max": memory or "max", "io.max": f"{disk} rbps={rate}"}}
    return {f"{root}/memory/{name}": {"memory.limit_in_bytes": memory or -1},
            f"{root}/blkio/{name}": {"blkio.throttle.read_bps_device": f"{disk} {rate}"}}


@contextlib.contextmanager
def throttled(store, memory, rate):
    """Drops the store from the page cache, and yields the start of a command line that enters a control group with these limits; 0: no limit."""
    for name in os.listdir(store):
        with open(os.path.join(store, name), "rb") as f:
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    made = []
    try:
        for directory, limits in groups(store, memory, rate).items():
            os.mkdir(directory)
            made.append(directory)
            for name, limit in limits.items():
                with open(os.path.join(directory, name), "w") as f:
                    f.write(str(limit))
        yield ["sh", "-c", "".join(f"echo $$ >{d}/cgroup.procs && " for d in made) + 'exec "$@"', "sh"]
    finally:
        for directory in made:
            os.rmdir(directory)


def run(o, store, k, flags, limit):
    """Returns the seconds of one run, its result and its error. The result is None if the run failed or took longer than `limit` seconds."""
    out = tempfile.mkdtemp(prefix="gdsvd-auto-")
    args = [o.gdsvd, "svd", store, "-k", str(k), "-o", out + "/out", "-q", "--json", "--vectors", "none", "--checkpoint-every", "0"]
    args += flags.split() + (["--memory", str(o.memory)] if o.memory else [])
    try:
        with throttled(store, o.memory, o.rate) if o.rate else contextlib.nullcontext([]) as enter:
            begun, before = time.monotonic(), os.times()
            child = subprocess.Popen(enter + args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                text, error = child.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                child.kill()
                child.communicate()
                return limit, None, ""
            after, seconds = os.times(), time.monotonic() - begun
    finally:
        shutil.rmtree(out)
    if child.returncode:
        return 0, None, (error.strip() or f"exit code {child.returncode}").splitlines()[-1]
    if o.loaded:
        used = after.children_user + after.children_system - before.children_user - before.children_system
        seconds = used / len(os.sched_getaffinity(0))
    return seconds, json.loads(text), ""


def compare(o, store, k):
    """Measures all choices on a store for one k, and returns them: auto first, then the others from the fastest to the slowest."""
    runs = [{"flags": f, "seconds": [], "median": 0, "passes": 0} for f in [AUTO] + grid(k, o.all)]
    c = {"store": os.path.basename(store), "k": k, "memory": o.memory, "rate": o.rate, "runs": runs}
    for turn in range(o.rounds):
        for e in random.Random(f"{o.seed} {turn}").sample(runs, len(runs)):
            if "failed" in e or "given" in e:
                continue
            best = min((r["median"] for r in runs if r["seconds"]), default=0)
            first = best and e["flags"] != AUTO and not e["seconds"] and not o.loaded
            seconds, result, failed = run(o, store, k, e["flags"], o.give_up * best if first else None)
            if failed and e["flags"] == AUTO:
                raise SystemExit(f"{store}, k = {k}: auto: {failed}")
            if failed:
                e["failed"] = failed
            elif result is None:
                e["given"] = seconds
            else:
                e["seconds"].append(seconds)
                e["median"], e["passes"] = statistics.median(e["seconds"]), result["passes"]
                if e["flags"] == AUTO:
                    c["chosen"], c["why"] = " ".join(result["choice"]["flags"]), result["choice"]["why"]
            print(c["store"], f"k = {k}, round {turn + 1}:", e["flags"], f"{seconds:.2f} s", failed, flush=True)
    runs.sort(key=lambda e: (e["flags"] != AUTO, "failed" in e, "given" in e, e["median"]))
    c["auto"], c["best"] = runs[0]["median"], runs[1]["median"]
    c["ratio"] = c["auto"] / c["best"] if c["best"] else 0  # 0: all other choices failed or were given up
    return c


def tables(all, note):
    """Returns the tables of the ratios and of all choices as Markdown."""
    lines = [note, ""] if note else []
    lines += ["| store | k | auto chose | by | auto | best | best of the grid | ratio | within 1.3 |", "|" + "---|" * 9]
    for c in all:
        lines.append(f"| {c['store']} | {c['k']} | `{c['chosen']}` | {c['why']} | {c['auto']:.2f} s | {c['best']:.2f} s "
                     f"| `{c['runs'][1]['flags']}` | {c['ratio']:.2f} | {'nothing to compare with' if not c['best'] else 'yes' if c['ratio'] <= WITHIN else '**no**'} |")
    for c in all:
        limits = f", {c['memory'] / 1e6:.3g} MB of memory, {c['rate'] / 1e6:.3g} MB/s" if c["rate"] else ""
        lines += ["", f"{c['store']}, k = {c['k']}{limits}", "", "| choice | median | runs | passes |", "|---|---|---|---|"]
        for e in c["runs"]:
            if "failed" in e or "given" in e:
                lines.append(f"| `{e['flags']}` | {e.get('failed') or 'more than %.2f s' % e['given']} | | |")
            else:
                lines.append(f"| `{e['flags']}` | {e['median']:.2f} s | {len(e['seconds'])} | {e['passes']} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("stores", nargs="+", metavar="STORE")
    parser.add_argument("--gdsvd", required=True)
    parser.add_argument("-o", "--out", default="auto")
    parser.add_argument("-k", default="10,50")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--give-up", type=float, default=4)
    parser.add_argument("--memory", type=int, default=0, help="bytes; 0: as gdsvd finds it")
    parser.add_argument("--rate", type=int, default=0, help="bytes a second that the disk delivers")
    parser.add_argument("--all", action="store_true", help="the methods of one vector too")
    parser.add_argument("--loaded", action="store_true", help="others use the machine: time is that of the processors over their number")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--note", default="", help="what was measured, where: the first line of OUT.md")
    o = parser.parse_args()
    o.gdsvd, all = os.path.abspath(o.gdsvd), []
    for store in o.stores:
        for k in map(int, o.k.split(",")):
            all.append(compare(o, store, k))
            with open(o.out + ".json", "w") as f:
                json.dump(all, f, indent=1)
            with open(o.out + ".md", "w") as f:
                f.write(tables(all, o.note))


if __name__ == "__main__":
    main()
