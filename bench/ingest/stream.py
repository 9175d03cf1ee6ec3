"""Times the ingestion of a sparse matrix by gdsvd: as a csr-stream (ingest/format/csrstream/FORMAT.md) from the memory of this process
through a pipe, as a csr-stream from a file on standard input, and as an npz file. The runs alternate with scipy.sparse.load_npz.

    python3 bench/ingest/stream.py -n 7 --entries 12000000 --gdsvd ./gdsvd -o bench/ingest/results/stream.md

The limits of the machine are measured as well: cat reads the same bytes from the same kind of pipe, and writes them to /dev/null or
to a file that is synced. Files are in the page cache. The time of gdsvd is that of the whole process: start, reading, writing the store
and syncing it. The time of SciPy is that of the call alone. CPU seconds are user and system seconds of the program. --gdsvd may be given
more than once to compare several builds.
"""

import argparse
import fcntl
import io
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np
import scipy.sparse as sp

LOAD = "import sys, time, scipy.sparse as sp; t = time.perf_counter(); sp.load_npz(sys.argv[1]); print(time.perf_counter() - t)"


def matrix(rows, per_row, cols, values):
    """Returns a random CSR matrix with about per_row entries a row, ascending int32 indices, and values of the given type."""
    r = np.random.default_rng(1)
    counts = r.poisson(per_row, rows)
    n = int(counts.sum())
    # Gaps between columns are exponential, at least 1, and scaled to the row: columns ascend without repetition.
    gaps = (1 + r.exponential(cols / per_row * 0.7, n)).astype(np.int64)
    ptr = np.concatenate([[0], np.cumsum(counts)])
    sums = np.cumsum(gaps)
    starts = np.repeat(np.concatenate([[0], sums])[ptr[:-1]], counts)
    at = sums - starts - 1
    keep = at < cols
    row = np.repeat(np.arange(rows), counts)[keep]
    vals = r.standard_normal(n)[keep] if values in ("f4", "f8") else r.integers(1, 11, n)[keep]
    m = sp.csr_matrix((vals.astype(values), at[keep].astype(np.int32), np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))]).astype(np.int32)), shape=(rows, cols))
    return m


def write_stream(m, out, bare=False):
    """Writes m as a csr-stream to out; if bare, without checksums of payloads, which a stream in a pipe may omit."""
    kind = lambda t: t.str[1:].encode().ljust(4, b"\0")
    head = b"\x89CSR\r\n\x1a\n" + struct.pack("<I4s4s4sQQI", 1, b"\0" * 4, kind(m.indices.dtype), kind(m.data.dtype), *m.shape, bare)
    out.write(head + struct.pack("<I", zlib.crc32(head)))
    size, ptr, row, total = m.indices.itemsize + m.data.itemsize, m.indptr, 0, m.nnz
    while row < m.shape[0]:
        # Every row of this matrix fits into a frame.
        room = min(32768, (262112 - 4 * 512) // size)
        end = min(int(np.searchsorted(ptr, ptr[row] + room, "right")) - 1, row + 512)
        lens = np.diff(ptr[row:end + 1]).astype("<u4").tobytes()
        payload = lens + m.indices[ptr[row]:ptr[end]].tobytes() + m.data[ptr[row]:ptr[end]].tobytes()
        rest = struct.pack("<IIQII", len(payload), end - row, row, int(ptr[end] - ptr[row]), 0)
        out.write(b"ROWS" + struct.pack("<I", zlib.crc32(b"" if bare else payload, zlib.crc32(rest))) + rest + payload)
        row = end
    rest = struct.pack("<IIQII", 0, 0, total, 0, 0)
    out.write(b"DONE" + struct.pack("<I", zlib.crc32(rest)) + rest)


def timed(args, data=None, file=None):
    """Runs a command that reads data from a pipe, or file as standard input, and returns its wall-clock and processor seconds."""
    t = time.perf_counter()
    p = subprocess.Popen(args, stdin=file or subprocess.PIPE, stdout=subprocess.DEVNULL)
    if data is not None:
        fcntl.fcntl(p.stdin, fcntl.F_SETPIPE_SZ, 1 << 20)
        at = 0
        while at < len(data):
            at += os.write(p.stdin.fileno(), data[at : at + (1 << 18)])
    if p.stdin:
        p.stdin.close()
    _, status, usage = os.wait4(p.pid, 0)
    wall = time.perf_counter() - t
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode:
        sys.exit(f"{' '.join(args)}: exit {p.returncode}")
    return wall, usage.ru_utime + usage.ru_stime


def gdsvd(program, store, source, data=None):
    """Returns the times of an ingest: of data through a pipe, of an npz file by its name, or of another file as standard input."""
    args = [program, "ingest", "-q", "--json", "-o", store, "--"]
    shutil.rmtree(store, ignore_errors=True)
    if data is not None:
        return timed(args + ["-"], data)
    if source.endswith(".npz"):
        return timed(args + [source], b"")
    with open(source, "rb") as f:
        return timed(args + ["-"], file=f)


def cat(data, to):
    """Returns the times in which cat reads data from a pipe and writes it to /dev/null, or to the file `to`, which is synced."""
    if to is None:
        return timed(["sh", "-c", "exec cat >/dev/null"], data)
    if os.path.exists(to):
        os.remove(to)
    return timed(["sh", "-c", 'cat >"$1" && sync "$1"', "sh", to], data)


def scipy(name):
    return float(subprocess.run([sys.executable, "-c", LOAD, name], capture_output=True, text=True, check=True).stdout), 0.0


def processor():
    with open("/proc/cpuinfo") as f:
        return re.search(r"model name\s*: (.*)", f.read())[1]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("-n", type=int, default=7, help="rounds")
    p.add_argument("--entries", type=int, default=12_000_000)
    p.add_argument("--values", default="f4,f8,u1")
    p.add_argument("--gdsvd", action="append")
    p.add_argument("--dir", help="for streams and stores")
    p.add_argument("-o", help="table to write")
    a = p.parse_args()
    programs = a.gdsvd or ["gdsvd"]
    with tempfile.TemporaryDirectory(dir=a.dir) as tmp:
        store = os.path.join(tmp, "store")
        table = [f"{time.strftime('%Y-%m-%d')}: {os.cpu_count()} cores of {processor()}, {a.n} rounds.", "",
                 "| | bytes | median, s | from … to | GB/s | CPU, s |", "|---|---|---|---|---|---|"]
        for values in a.values.split(","):
            m = matrix(a.entries // 100, 100, 100_000, values)
            name, npz = os.path.join(tmp, values + ".csrs"), os.path.join(tmp, values + ".npz")
            with open(name, "wb") as f:
                write_stream(m, f)
            sp.save_npz(npz, m, compressed=False)
            piped = io.BytesIO()
            write_stream(m, piped, True)
            data = piped.getbuffer()
            runs = {}
            for g in programs:
                runs[f"{g}, csr-stream, pipe"] = name, lambda g=g, name=name, data=data: gdsvd(g, store, name, data)
                runs[f"{g}, csr-stream, file"] = name, lambda g=g, name=name: gdsvd(g, store, name)
                runs[f"{g}, npz"] = npz, lambda g=g, npz=npz: gdsvd(g, store, npz)
            runs["cat > /dev/null"] = name, lambda data=data: cat(data, None)
            runs["cat > file, sync"] = name, lambda data=data: cat(data, os.path.join(tmp, "copy"))
            runs["scipy.sparse.load_npz"] = npz, lambda npz=npz: scipy(npz)
            times = {what: [] for what in runs}
            for _ in range(a.n):
                for what, (_, run) in runs.items():
                    time.sleep(0.3)
                    times[what].append(run())
            for what, (source, _) in runs.items():
                wall, size = [t for t, _ in times[what]], os.path.getsize(source)
                median, cpu = statistics.median(wall), statistics.median(c for _, c in times[what])
                table.append(f"| {what}, {values}, {m.nnz / 1e6:.1f} M | {size / 1e6:.0f} MB | {median:.3f} | {min(wall):.3f} … {max(wall):.3f} | {size / median / 1e9:.2f} | {cpu:.2f} |")
            os.remove(name)
            os.remove(npz)
    print("\n".join(table))
    if a.o:
        with open(a.o, "w") as f:
            f.write("\n".join(table) + "\n")


if __name__ == "__main__":
    main()
