"""Compares the forecasts of gdsvd plan for time, disk and memory with the measured use of the planned commands.

    python3 bench/auto/forecasts.py --gdsvd ./gdsvd -o bench/auto/results/forecasts INPUT...

INPUT is a store or a file of entries. For every INPUT and every k of -k there are three plans: without further flags, with --view,
and with --memory. The commands that plan prints are executed in a new directory. A forecast of time is near if the likely time is within
a factor of 2 of the measured one, a forecast of memory or disk within a factor of 1.2; a range holds if it contains the measured value.
Both allow for rounding by a hundredth of a second, a MiB of memory and 64 KiB of disk. Memory is the largest resident set of the
processes of a step; disk is the growth of the directory in the step. OUT.json has all numbers, OUT.md the table.
"""
import argparse
import json
import os
import subprocess
import tempfile
import time

SLACK = {"seconds": 0.01, "memory_bytes": 1 << 20, "kept_bytes": 64 << 10}
NEAR = {"seconds": 2, "memory_bytes": 1.2, "kept_bytes": 1.2}


def size(directory):
    """Returns the bytes of the files in a directory, without symbolic links."""
    total = 0
    for path, _, names in os.walk(directory):
        total += sum(os.lstat(os.path.join(path, n)).st_size for n in names if not os.path.islink(os.path.join(path, n)))
    return total


def run(gdsvd, command, directory):
    """Runs a command, and returns its seconds, processor seconds and peak memory in bytes."""
    start = time.monotonic()
    with open(os.devnull, "w") as null:
        child = subprocess.Popen([gdsvd] + command[1:] + ["-q"], cwd=directory, stdout=null)
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit code {child.returncode}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10


def judge(kind, planned, taken):
    """Reports whether a forecast is near, and whether its range holds."""
    slack, likely = SLACK[kind], planned["likely"]
    near = max(likely, taken) <= NEAR[kind] * min(likely, taken) + slack
    return near, planned["low"] - slack <= taken <= planned["high"] + slack


def case(gdsvd, path, k, extra, loaded):
    """Plans and executes the steps for one input, and returns the planned and the measured use of each step."""
    with tempfile.TemporaryDirectory() as directory:
        name = os.path.basename(path)
        os.symlink(os.path.abspath(path), os.path.join(directory, name))
        args = [gdsvd, "plan", name, "-k", str(k), "--export", "npy", "--json"] + extra
        done = subprocess.run(args, cwd=directory, stdout=subprocess.PIPE)
        plan = json.loads(done.stdout)
        if done.returncode != 0:  # the plan was refused, so there are no forecasts to compare
            print(plan.get("error"), flush=True)
            return []
        rows, view = [], {"low": 0, "likely": 0, "high": 0}
        for step in plan["steps"]:
            if not step["commands"]:  # the step is done by the command of the next step
                view = step["seconds"]
                continue
            before, seconds, memory = size(directory), 0.0, 0
            for command in step["commands"]:
                wall, processor, peak = run(gdsvd, command, directory)
                if loaded:
                    wall = min(wall, processor / len(os.sched_getaffinity(0)))
                seconds, memory = seconds + wall, max(memory, peak)
            planned = {kind: step[kind] for kind in SLACK}
            planned["seconds"] = {key: step["seconds"][key] + view[key] for key in view}
            view = {"low": 0, "likely": 0, "high": 0}
            taken = {"seconds": seconds, "memory_bytes": memory, "kept_bytes": size(directory) - before}
            rows.append({"input": name, "k": k, "flags": extra, "step": step["step"], "planned": planned, "taken": taken})
        return rows


def text(kind, value):
    return f"{value:.2f} s" if kind == "seconds" else f"{value / (1 << 20):.1f}"


def table(rows):
    """Returns a table of the numbers of forecasts that are near and hold, and a table of all steps, as Markdown."""
    lines, counts = [], {(step, kind): [0, 0, 0] for step in ("ingest", "svd", "export") for kind in SLACK}
    for row in rows:
        cells = []
        for kind in SLACK:
            planned, taken = row["planned"][kind], row["taken"][kind]
            near, holds = judge(kind, planned, taken)
            count = counts[row["step"], kind]
            count[0], count[1], count[2] = count[0] + 1, count[1] + near, count[2] + holds
            mark = "" if near and holds else " **×**" if not holds else " ×"
            cells.append(f"{text(kind, planned['likely'])} ({text(kind, planned['low'])}…{text(kind, planned['high'])}) | {text(kind, taken)}{mark}")
        lines.append(f"| {row['input']} | {row['k']} | `{' '.join(row['flags'])}` | {row['step']} | " + " | ".join(cells) + " |")
    head = ["| step | of | runs | near | range holds |", "|---|---|---|---|---|"]
    head += [f"| {step} | {kind} | {n} | {near} | {holds} |" for (step, kind), (n, near, holds) in counts.items() if n]
    columns = "| input | k | flags | step | seconds planned | taken | MiB of memory planned | taken | MiB of disk planned | taken |"
    return "\n".join(head + ["", "× not near, **×** outside the range", "", columns, "|" + "---|" * 10] + lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("inputs", nargs="+", metavar="INPUT")
    parser.add_argument("--gdsvd", required=True)
    parser.add_argument("-o", "--out", default="forecasts")
    parser.add_argument("-k", default="10,50")
    parser.add_argument("--view", default="log1p | center=columns")
    parser.add_argument("--memory", default="72MiB")
    parser.add_argument("--loaded", action="store_true", help="others use the machine: time is that of the processors over their number")
    parser.add_argument("--note", default="")
    options = parser.parse_args()
    gdsvd, rows = os.path.abspath(options.gdsvd), []
    for path in options.inputs:
        for k in map(int, options.k.split(",")):
            for extra in [], ["--view", options.view], ["--memory", options.memory]:
                rows += case(gdsvd, path, k, extra, options.loaded)
                print(path, k, *extra, flush=True)
                with open(options.out + ".json", "w") as f:
                    json.dump(rows, f, indent=1)
                with open(options.out + ".md", "w") as f:
                    f.write((options.note + "\n\n" if options.note else "") + table(rows))


if __name__ == "__main__":
    main()
