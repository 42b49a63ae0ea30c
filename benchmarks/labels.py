"""`python -m benchmarks labels`: expansions and swaps against other programs, arrays to labels, to the end.

All begin with the same labelling.  A row appears only if `check()` proved every move the best of its kind.  Times are
medians of interleaved repeats after one untimed call, on one thread; ratio = baseline / ours.  A baseline that takes
longer than PATIENCE seconds is timed in its first call.  Energies are computed by `gridcut.energy_of`.
"""

import argparse
import os
import time
from functools import partial
from pathlib import Path

import numba
import numpy as np

import gridcut
from benchmarks.label_baselines import BASELINES, fits
from benchmarks.label_instances import INSTANCES
from benchmarks.label_video import measure_video
from benchmarks.table import geometric_mean, header, markdown, save
from benchmarks.timing import WAITING, interleaved

BUSY = "(busy)"
PATIENCE = 10.0
SOLVE = {"expansion": gridcut.alpha_expansion, "swap": gridcut.alpha_beta_swap}


def main(argv):
    options = _parser().parse_args(argv)
    if unknown := [name for name in options.instances if name not in INSTANCES]:
        print(f"unknown instance {unknown[0]!r}; there are: {', '.join(INSTANCES)}")
        return 2
    numba.set_num_threads(1)
    report = header("several labels on the CPU", ["numba", "numpy", *(r.distribution for r in BASELINES.values())])
    print(report)
    if options.video:
        measure_video(2)
        table = measure_video(12)
        print(table)
        if options.save:
            print("saved to", save("labels-video", f"{report}\n{table}"))
        return 0
    rows, ratios, missing = [], {name: [] for name in BASELINES}, []
    for name in options.instances or INSTANCES:
        make, move, folder = INSTANCES[name]
        if folder is not None and (options.data is None or not (options.data / folder).is_dir()):
            missing.append(name)
            continue
        for row, found in measure(name, make(options.data), move, options):
            rows.append(row)
            print(" ".join(row), flush=True)
            for baseline, ratio in found.items():
                ratios[baseline].append(ratio)
    columns = ["instance", "size", "start", "certified", "moves", "s", "energy"]
    for baseline in BASELINES:
        columns += [f"{baseline} s", "energy", "ratio"]
    lines = ["", markdown(columns, rows), ""]
    for baseline, column in ratios.items():
        if column:
            lines.append(
                f"{baseline}: geometric mean of the ratios {geometric_mean(column):.2f}, least {min(column):.2f}."
            )
        elif not BASELINES[baseline].installed:
            lines.append(f"{baseline} is missing (pip install {BASELINES[baseline].distribution}).")
    if missing:
        lines.append(f"Not measured, no public data (--data FOLDER): {', '.join(missing)}.")
    if any(row[0].endswith(BUSY) for row in rows):
        lines.append(f"{BUSY}: other programs were at work in every round; these times are not to be quoted.")
    print("\n".join(lines))
    if options.save:
        print("saved to", save("labels-cpu", f"{report}\n" + "\n".join(lines)))
    return 0


def measure(name, problem, move, options):
    """Rows of one instance, one for each start, and the ratios of each."""
    for start_name in options.start:
        cheapest = problem.unary.argmin(0)
        start = cheapest if start_name == "cheapest" else np.zeros_like(cheapest)
        run = partial(SOLVE[move], problem.unary, problem.weights, problem.cost, start=start, device="cpu")
        if options.restarts is not None:
            run = partial(run, restarts=options.restarts)
        result = run(max_cycles=options.cycles)
        if not options.no_check:
            result.check()
        runs = {"ours": partial(run, max_cycles=options.cycles)}
        energies, slow, waited = {}, {}, False
        for baseline, adapter in BASELINES.items():
            if adapter.installed and fits(baseline, problem, move):
                begun, used = time.perf_counter(), time.process_time()
                labels = adapter.run(problem, move, start.copy(), options.cycles)
                slow[baseline] = time.perf_counter() - begun
                if slow[baseline] > PATIENCE:
                    waited |= slow[baseline] > WAITING * (time.process_time() - used)
                else:
                    del slow[baseline]
                    runs[baseline] = partial(adapter.run, problem, move, start.copy(), options.cycles)
                energies[baseline] = gridcut.energy_of(labels, problem.unary, problem.weights, problem.cost)
        seconds, calm = interleaved(runs, options.repeats)
        seconds, calm = seconds | slow, calm and not waited
        size = "x".join(map(str, problem.unary.shape))
        proved = "-" if options.no_check else "✓"
        row = [name if calm else f"{name} {BUSY}", size, start_name, proved, str(result.stats["moves"])]
        row += [f"{seconds['ours']:.3f}", str(result.energy)]
        ratios = {}
        for baseline in BASELINES:
            if baseline not in energies:
                row += ["-"] * 3
                continue
            ratios[baseline] = seconds[baseline] / seconds["ours"]
            row += [f"{seconds[baseline]:.3f}", str(energies[baseline]), f"{ratios[baseline]:.2f}"]
        yield row, ratios


def _parser():
    parser = argparse.ArgumentParser(prog="python -m benchmarks labels", description=__doc__.split("\n")[0])
    parser.add_argument("instances", nargs="*", metavar="INSTANCE", help=f"of: {', '.join(INSTANCES)}; all when absent")
    where = os.environ.get("CUTMATCH_LABELS_DATA")
    parser.add_argument(
        "--data", type=Path, default=where and Path(where), help="folder with mrf/ and stereo/ ($CUTMATCH_LABELS_DATA)"
    )
    parser.add_argument("--start", nargs="+", choices=("zero", "cheapest"), default=["zero"], help="first labelling")
    parser.add_argument("--cycles", type=int, help="cycles to make; to the end when absent")
    parser.add_argument("--restarts", type=int, help="as each function has by default when absent")
    parser.add_argument("--video", action="store_true", help="a moving stereo sequence in place of the instances")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-check", action="store_true", help="do not prove the moves, which takes a while")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/labels-cpu.md, or -video")
    return parser
