"""`python -m benchmarks gridcut`: max-flow on image grids against PyMaxflow, arrays to labels.

A row appears only if `cut.check()` certified the cut and its value equals the baseline's in the same run
and the recorded one.  Times are medians of interleaved repeats after one untimed call; ratio = baseline / ours.
"""

import contextlib
import os
import time
from functools import partial

import numba
import numpy as np

import gridcut
from benchmarks import command
from benchmarks.baselines import BASELINES
from benchmarks.gpu import to_host
from benchmarks.instances import ALL, EIGHT, HARD, LARGE, SUITE, VALUES, VOLUMES, Problem
from benchmarks.table import markdown, means, number, ratio
from benchmarks.timing import peak_memory, rounds

BASELINE = "PyMaxflow"
GROUPS = {"the nine": SUITE, "8-connected": EIGHT, "3-D": VOLUMES, "16.8 Mpixel": LARGE, "hard": HARD}


def main(argv):
    options = _parser().parse_args(argv)
    names = options.instances or [name for name in ALL if name not in LARGE | HARD]
    command.known_instances(names, ALL)
    report = command.begin("gridcut on the CPU", ["numba", "numpy", BASELINES["grids"][BASELINE].distribution])
    if options.warm:
        with thread_limit(1):
            text = warm_table(options.warm, options.method, options.repeats, threads=["1"])
    else:
        text = cold_table(names, options)
    name = f"{options.save}-warm" if options.save and options.warm else options.save
    return command.finish(report, text, name)


def cold_table(names, options):
    threads = [n for n in options.threads if n <= numba.config.NUMBA_NUM_THREADS]
    baseline = BASELINES["grids"][BASELINE]
    columns = ["instance", "size", "method", "device", "certified"]
    columns += [f"{n} thread{'s'[: n > 1]} s" for n in threads] + [f"{BASELINE} s"]
    columns += [f"ratio, {n}" for n in threads] + ["bytes/pixel", f"{BASELINE} bytes/pixel"]
    rows, ratios = [], {}
    for name in names:
        problem = ALL[name]()
        for method in options.method:
            row, of = measure(name, problem, method, threads, baseline, options)
            rows += command.shown([row])
            add(ratios, name, method, [f"{BASELINE} / ours, threads: {n}" for n in threads], of)
    lines = ["", markdown(columns, rows), "", means(ratios)]
    if not baseline.installed:
        lines.append(f"{BASELINE} is missing (pip install {baseline.distribution}): values are the recorded ones.")
    if missing := set(options.threads) - set(threads):
        lines.append(f"Not measured, the machine has no such number of threads: {sorted(missing)}.")
    return "\n".join(lines)


def add(ratios, name, method, columns, of):
    """Add the ratios of an instance, one per column, to those of its groups, of which `means` makes a table."""
    for group in (group for group, members in GROUPS.items() if name in members):
        for column, value in zip(columns, of, strict=True):
            ratios.setdefault(f"{group}, {method}: {column}", []).append(value)


def measure(name, problem, method, threads, baseline, options):
    """One row, and the ratios per number of threads, None without the baseline."""
    value = baseline.prepare(problem)()[0] if baseline.installed else VALUES[name]
    runs = {}
    for n in threads:
        runs[n] = partial(solve, problem, method, n)
        cut = runs[n]()
        cut.check()
        if not cut.value == value == VALUES[name]:
            raise AssertionError(f"{name}, {method}: value {cut.value}, {BASELINE} {value}, known {VALUES[name]}")
    if baseline.installed:
        runs[BASELINE] = baseline.prepare(problem)
    seconds, _ = rounds(runs, options.repeats)

    used = baseline_used = "-"
    if not options.quick:
        used = _bytes_per_pixel(problem, method)
        baseline_used = _bytes_per_pixel(problem, BASELINE) if baseline.installed else "missing"
    of = [ratio(seconds.get(BASELINE), seconds[n]) for n in threads]
    row = [name, "x".join(map(str, problem.source.shape)), cut.method, cut.device, "✓"]
    row += [f"{seconds[n]:.4f}" for n in threads]
    row += [f"{seconds[BASELINE]:.4f}" if baseline.installed else "missing"]
    return [*row, *map(number, of), used, baseline_used], of


def solve(problem, method, threads):
    """The timed call: arrays in, labels and value out."""
    with thread_limit(threads):
        cut = gridcut.max_flow(problem.source, problem.sink, problem.edges, device="cpu", method=method)
        return touched(cut, problem)


def touched(cut, problem):
    """The cut after its value and labels were read, since they may be computed on request."""
    assert cut.labels.shape == problem.source.shape
    assert cut.value >= 0
    return cut


# How `share` of the pixels get new terminal capacities.
CHANGES = ("stroke", "by up to 10 %", "uniform", "shuffled")


def warm_table(name, methods, repeats, threads=(), share=0.01, **where):
    """Re-solving after changes of several kinds at `share` of the pixels; `threads`: the cell of a column, if any.

    Cold is a new solve of the changed problem; both results are certified and must agree.
    """
    columns = ["instance", "method", "changed", "certified", *["threads"] * len(threads)]
    columns += ["cold s", "update s", "warm solve s", "cold / solve", "cold / (update + solve)"]
    rows = []
    for method in methods:
        for change in CHANGES:
            ran, times = warm_times(name, method, share, change, repeats, **where)
            update, warm, cold = np.median(times, axis=0)
            row = [name, ran, f"{share:.0%}, {change}", "✓", *threads, *(f"{s:.4f}" for s in (cold, update, warm))]
            rows.append([*row, f"{cold / warm:.1f}", f"{cold / (update + warm):.1f}"])
            print(" ".join(rows[-1]), flush=True)
    return markdown(columns, rows)


def warm_times(name, method, share, change, repeats, device="cpu", place=lambda array: array, wait=lambda: None):
    """The method that ran, and seconds of update, warm and cold solve after each of `repeats` changes.

    place: copies an array to the device; wait: until the device has no work left
    """
    rng = np.random.default_rng(0)
    problem = ALL[name]()
    edges = {offset: place(array) for offset, array in problem.edges.items()}
    solver = gridcut.Solver(place(problem.source), place(problem.sink), edges, device=device, method=method)
    solver.solve()
    times = []
    # one round more than is counted: the first re-solve compiles
    for _ in range(repeats + 1):
        problem = changed(problem, share, change, rng)
        source, sink = place(problem.source), place(problem.sink)
        ticks = []

        def tick(ticks=ticks):
            wait()
            ticks.append(time.perf_counter())

        tick()
        solver.update(source=source, sink=sink)
        tick()
        warm = touched(solver.solve(), problem)
        tick()
        cold = touched(gridcut.max_flow(source, sink, edges, device=device, method=method), problem)
        tick()
        warm.check()
        cold.check()
        if warm.value != cold.value or (to_host(warm.labels) != to_host(cold.labels)).any():
            raise AssertionError(f"warm {warm.value}, cold {cold.value}, or other labels")
        times.append(np.diff(ticks))
    return cold.method, times[1:]


def changed(problem, share, change, rng):
    """New terminal capacities: a square stroke, slightly other values, any values, or other pixels' values."""
    source, sink = problem.source.copy(), problem.sink.copy()
    if change == "stroke":
        side = round((share * source.size) ** (1 / source.ndim))
        corner = [rng.integers(max(1, d - side)) for d in source.shape]
        place = tuple(slice(c, c + side) for c in corner)
        hard = max(source.max(), sink.max())
        source[place], sink[place] = (hard, 0) if rng.random() < 0.5 else (0, hard)
        return Problem(source, sink, problem.edges)
    pixels = rng.choice(source.size, max(2, round(share * source.size)), replace=False)
    if change == "uniform":
        typical = round(3 * float(np.median(np.maximum(source, sink))))
        values = rng.integers(-typical, typical + 1, pixels.size)
        source.flat[pixels], sink.flat[pixels] = np.maximum(values, 0), np.maximum(-values, 0)
    for array in (source, sink):
        if change == "by up to 10 %":
            array.flat[pixels] = np.rint(array.flat[pixels] * rng.uniform(0.9, 1.1, pixels.size))
        elif change == "shuffled":
            array.flat[pixels] = array.flat[np.roll(pixels, 1)]
    return Problem(source, sink, problem.edges)


@contextlib.contextmanager
def thread_limit(threads):
    before = numba.get_num_threads()
    numba.set_num_threads(threads)
    try:
        yield
    finally:
        numba.set_num_threads(before)


def _bytes_per_pixel(problem, solver):
    if not os.path.exists("/proc/self/clear_refs"):
        return "Linux only"
    return f"{peak_memory(problem, solver) / problem.source.size:.1f}"


def _parser():
    parser = command.parser("gridcut", __doc__, "gridcut-cpu", repeats=3)
    parser.add_argument("instances", nargs="*", metavar="INSTANCE", help="names (default: all but the large and hard)")
    parser.add_argument("--method", type=lambda s: s.split(","), default=["auto"], help="methods, comma-separated")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda has other options: add --help")
    parser.add_argument("--threads", type=lambda s: [int(n) for n in s.split(",")], default=[1, 2], help="default: 1,2")
    parser.add_argument("--quick", action="store_true", help="no fresh processes: no memory")
    parser.add_argument(
        "--warm",
        nargs="?",
        const="astronaut x4",
        metavar="INSTANCE",
        help="time re-solves after a 1 %% change",
    )
    return parser
