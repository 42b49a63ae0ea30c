"""`python -m benchmarks assign --device cuda`: assignment on a GPU, against lapx and torch-linear-assignment.

on card ms     from costs on the GPU to pairs and prices on the GPU, synchronised: the median of --repeats
transfers ms   from costs on the host to results on the host
CPU, auto ms   device="cpu" and "auto", from costs on the host to results on the host
lapx ms        the fastest of some of its variants on one thread of the host, timed once

A row appears only if the certificate holds, and where lapx ran, only if both agree on the cost.
"""

from statistics import median

import numpy as np

import assign
from benchmarks import assign_instances as instances
from benchmarks import baselines, command, gpu, timing
from benchmarks.gpu import device_array
from benchmarks.table import markdown

SIZES = (2000, 4000, 10_000, 20_000)
COMPARED = 4000  # rows up to which lapx and the CPU take less than a few seconds
SINGLE = ("u100", "u1e6", "u[0,n]", "geometric 1e3", "geometric 1e6", "fixed-charge", "two-cost", "tracking")
WITHOUT_LAPX = ("low rank 8", "Machol-Wien")  # which takes seconds at 2000 rows
SINGLE += WITHOUT_LAPX
BATCHES = ((1000, 30), (100_000, 30), (10_000, 64), (208, 300), (256, 256), (256, 512))
BATCHED = ("uniform", "u100", "geometric", "tracking")
LARGEST = ("u1e6", "geometric 1e6")  # at 20 000 rows: others take minutes to generate
LAPX = ("lapjvs f32", "lapjvr f32", "lapjvh f32", "lapjvh", "lapjvr")


def main(options):
    programs = ["numba-cuda", "numba", "numpy", "scipy", "lapx", "torch-linear-assignment"]
    report = command.gpu_header("assign --device cuda", "assign on a GPU", programs)
    if report is None:
        return 2
    every = not (options.dense or options.batch or options.methods)
    parts = []
    if options.dense or every:
        parts.append(single_table(options))
    if options.batch or every:
        parts.append(batch_table(options))
    if options.methods or every:
        parts.append(methods_table(options))
    return command.finish(report, "\n\n".join(parts), options.save)


def timed(run, repeats):
    """Median seconds of a call, until no work is left on the GPU, and its last result."""
    found = [gpu.timed(run) for _ in range(repeats)]
    return median(seconds for seconds, _ in found), found[-1][1]


def single_table(options):
    columns = ["instance", "size", "method", "certified", "on card ms", "transfers ms", "auction ms", "CPU ms"]
    columns += ["auto ms", "auto / CPU", "lapx ms", "", "lapx / on card"]
    assign.solve(device_array(instances.DENSE["u1e6"](500, np.random.default_rng(0))))  # compiles
    rows = command.shown(
        single_row(name, n, options.repeats)
        for n in options.sizes or SIZES
        for name in options.instances or (SINGLE if n < max(SIZES) else LARGEST)
    )
    return markdown(columns, rows)


def single_row(name, n, repeats):
    cost = instances.DENSE[name](n, np.random.default_rng(n))
    held = device_array(cost)
    found = assign.solve(held)
    found.check()
    card, found = timed(lambda: assign.solve(held), repeats)
    whole, _ = timed(lambda: assign.solve(cost, device="cuda"), repeats if n <= COMPARED else 1)
    variant = lapx = None
    ours = ["-"] * 3
    if n <= COMPARED:
        cpu, auto = (
            timed(lambda device=device: assign.solve(cost, device=device), repeats)[0] for device in ("cpu", "auto")
        )
        ours = [f"{1e3 * cpu:.1f}", f"{1e3 * auto:.1f}", f"{auto / cpu:.2f}"]
    if baselines.BASELINES["assignment"]["lapx"].installed and n <= COMPARED and name not in WITHOUT_LAPX:
        names = LAPX if n < COMPARED else ("lapjvs f32",)  # seconds each: one that is among the fastest at this size
        run = baselines.assignment_lapx(cost, names)
        total, lapx = timing.timed(run)
        if total != found.cost:
            raise AssertionError(f"{name}: lapx {run.__name__} found {total}, not {found.cost}")
        variant = run.__name__
    auction = found.stats["auction_seconds"]
    row = [name, str(n), found.method, "✓", f"{1e3 * card:.1f}", f"{1e3 * whole:.1f}", f"{1e3 * auction:.1f}", *ours]
    return [*row, f"{1e3 * lapx:.0f}" if lapx else "-", variant or "", f"{lapx / card:.0f}" if lapx else "-"]


def batch_table(options):
    columns = ["batch", "size", "certified", "on card ms", "transfers ms", "torch-linear-assignment ms", "ratio"]
    rows = []
    baseline = torch_baseline()
    for count, n in BATCHES:
        for name in BATCHED:
            costs = batch_of(name, count, n, np.random.default_rng(n))
            held = device_array(costs)
            assign.solve_batch(held).check()
            card, _ = timed(lambda held=held: assign.solve_batch(held), options.repeats + 2)
            whole, _ = timed(lambda costs=costs: assign.solve_batch(costs, device="cuda"), 2)
            theirs = timed(baseline(costs), options.repeats)[0] if baseline else None
            row = [name, f"{count} x {n}", "✓", f"{1e3 * card:.2f}", f"{1e3 * whole:.2f}"]
            rows.append([*row, *((f"{1e3 * theirs:.2f}", f"{theirs / card:.1f}") if theirs else ("-", "-"))])
            print(" ".join(rows[-1]), flush=True)
    return markdown(columns, rows)


def torch_baseline():
    """Costs -> a callable on a tensor on the GPU; None if it is not installed."""
    try:
        import torch
        from torch_linear_assignment import batch_linear_assignment
    except ImportError:
        return None

    def prepare(costs):
        tensor = torch.as_tensor(costs.astype(np.float32), device="cuda")

        def run():
            batch_linear_assignment(tensor)
            torch.cuda.synchronize()

        run()  # compiles
        return run

    return prepare


def batch_of(name, count, n, rng):
    """A batch of independent problems: float32, integers for u100."""
    if name == "uniform":
        return rng.random((count, n, n), dtype=np.float32)
    if name == "u100":
        return rng.integers(0, 101, (count, n, n), dtype=np.int32)
    a, b = rng.random((2, count, n, 1), dtype=np.float32), rng.random((2, count, 1, n), dtype=np.float32)
    if name == "geometric":
        return np.hypot(a[0] - b[0], a[1] - b[1])
    b = (a + rng.normal(0, 0.01, a.shape).astype(np.float32)).transpose(0, 1, 3, 2)[..., rng.permutation(n)]
    return ((a - b) ** 2).sum(axis=0)


def methods_table(options):
    """Every method by name, and the time that the paper reports for its own (n = 30, costs to 100, a GTX 560 Ti)."""
    columns = ["instance", "size", "method", "certified", "ms", "the paper's ms"]
    rows = []
    for n in (30, 200):
        cost = instances.DENSE["u100"](n, np.random.default_rng(n))
        for method in ("lock_free", "auction"):
            assign.solve(cost, device="cuda", method=method).check()
            seconds, found = timed(lambda c=cost, m=method: assign.solve(c, device="cuda", method=m), options.repeats)
            paper = "50" if (n, method) == (30, "lock_free") else "-"
            rows.append(["u100", str(n), found.method, "✓", f"{1e3 * seconds:.2f}", paper])
            print(" ".join(rows[-1]), flush=True)
    return markdown(columns, rows)
