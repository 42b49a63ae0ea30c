"""`python -m benchmarks assign`: the assignment problem, against SciPy, lapx and OR-tools.

Every program gets its costs in the form that suits it, prepared before the clock starts; filling OR-tools' graph is
timed.  Programs run interleaved on the same instance; times are medians in milliseconds.  "lapx" is the fastest of its
functions on the instance, whose name follows the time.  Programs that take more than ONCE_ABOVE seconds are timed once.
A row appears only if the assignment's certificate holds and all programs agree on the cost.

With --device cuda, against the CPU, lapx and torch-linear-assignment:

on card     from costs on the GPU to pairs and prices on the GPU, synchronised
transfers   from costs on the host to results on the host
CPU, auto   device="cpu" and "auto", from costs on the host to results on the host
lapx        on one thread of the host, once
"""

from functools import partial
from statistics import median

import numba
import numpy as np

import assign
from benchmarks import assign_instances as instances
from benchmarks import baselines, command, gpu, timing
from benchmarks.gpu import device_array
from benchmarks.table import means, milliseconds, number, ratio, records
from benchmarks.timing import rounds

SIZES = {"dense": (1000, 2000, 4000), "rectangular": (1000,), "sparse": (20_000,)}
FAMILIES = {"dense": instances.DENSE, "rectangular": instances.RECTANGULAR, "sparse": instances.SPARSE}
ONCE_ABOVE = 4.0  # seconds
BATCHES = ((1000, 30), (256, 64), (64, 256))
# On a GPU
GPU_SIZES = (2000, 4000, 10_000, 20_000)
COMPARED = 4000  # rows up to which lapx and the CPU take less than a few seconds
WITHOUT_LAPX = ("low rank 8", "Machol-Wien")  # which takes seconds at 2000 rows
SINGLE = ("u100", "u1e6", "u[0,n]", "geometric 1e3", "geometric 1e6", "fixed-charge", "two-cost", "tracking")
LARGEST = ("u1e6", "geometric 1e6")  # at 20 000 rows: others take minutes to generate
LAPX = ("lapjvs f32", "lapjvr f32", "lapjvh f32", "lapjvh", "lapjvr")
GPU_BATCHES = ((1000, 30), (100_000, 30), (10_000, 64), (208, 300), (256, 256), (256, 512))
GPU_BATCHED = ("uniform", "u100", "geometric", "tracking")


def main(argv):
    options = parser().parse_args(argv)
    report = command.report_on(options.device, "assign", "assign", ["numba", "numpy", "scipy", "lapx", "ortools"])
    tables = GPU_TABLES if options.device == "cuda" else TABLES
    chosen = [name for name in tables if getattr(options, name)]
    parts = []
    for name in chosen or tables:
        ratios = {}
        rows = command.shown(tables[name](options, ratios))
        parts += [part for part in (records(rows), means(ratios)) if part]
    return command.finish(report, "\n\n".join(parts), options.save and options.save.format(device=options.device))


def size_of(cost) -> str:
    return "x".join(map(str, cost.shape))


def single(part, options, ratios):
    """A row for each instance of dense, rectangular or sparse costs."""
    for n in options.sizes or SIZES[part]:
        for name in options.instances or FAMILIES[part]:
            if name in FAMILIES[part]:
                yield measure(name, FAMILIES[part][name](n, np.random.default_rng(n)), options, ratios)


def measure(name, cost, options, ratios):
    """One row; adds the baselines' times over ours."""
    runs = {"ours": lambda: assign.solve(cost, device="cpu")}
    found = runs["ours"]()  # compiles
    found.check()
    for baseline, program in baselines.installed("assignment").items():
        if run := program.prepare(cost):
            runs[baseline] = run
    seconds, results = rounds(runs, options.repeats, ONCE_ABOVE)
    costs = {who: getattr(result, "cost", result) for who, result in results.items()}
    if set(costs.values()) != {found.cost}:
        raise AssertionError(f"{name}: costs differ: {costs}")
    row = {"instance": name, "size": size_of(cost), "method": found.method, "certified": "✓"}
    row |= {f"{who} ms": milliseconds(seconds[who]) for who in runs}
    row["lapx's"] = getattr(runs.get("lapx"), "__name__", "-")
    for baseline in list(runs)[1:]:
        quotient = ratio(seconds[baseline], seconds["ours"])
        ratios.setdefault(f"{baseline} / ours", []).append(quotient)
        row[f"{baseline} / ours"] = number(quotient)
    return row


def batches(options, ratios):
    """Batches on one thread and on all, against lapx's batch functions and a loop over SciPy."""
    import lap
    from scipy.optimize import linear_sum_assignment

    every = f"{numba.config.NUMBA_NUM_THREADS} threads"
    for count, n in BATCHES:
        for name in instances.BATCHED:
            costs = instances.stack(name, count, n, np.random.default_rng(n))
            double = costs.astype(np.float64)
            expected = assign.solve_batch(costs, device="cpu")
            expected.check()
            runs = {
                "1 thread": lambda costs=costs: assign.solve_batch(costs, device="cpu", threads=1).cost,
                every: lambda costs=costs: assign.solve_batch(costs, device="cpu").cost,
                "lapjvr": lambda d=double: lap.lapjvr_batch(d, extend_cost=True)[0],
                "lapjvh": lambda d=double: lap.lapjvh_batch(d, extend_cost=True)[0],
                "SciPy": lambda d=double: np.array([m[linear_sum_assignment(m)].sum() for m in d]),
            }
            seconds, results = rounds(runs, options.repeats, ONCE_ABOVE)
            for result in results.values():
                if not np.array_equal(np.asarray(result, np.float64).ravel(), expected.cost):
                    raise AssertionError(f"{name}: costs differ")
            row = {"batch": name, "size": f"{count} x {n}", "certified": "✓"}
            row |= {f"{who} ms": milliseconds(seconds[who]) for who in runs}
            row["us a problem"] = number(1e6 * seconds["1 thread"] / count, 1)
            for who in ("lapjvr", "lapjvh", "SciPy"):
                ratios.setdefault(f"{who} / 1 thread", []).append(seconds[who] / seconds["1 thread"])
            yield row


def on_gpu(run, repeats):
    """Median seconds of a call, until no work is left on the GPU, and its last result."""
    found = [gpu.timed(run) for _ in range(repeats)]
    return median(seconds for seconds, _ in found), found[-1][1]


def gpu_single(options, ratios):
    assign.solve(device_array(instances.DENSE["u1e6"](500, np.random.default_rng(0))))  # compiles
    for n in options.sizes or GPU_SIZES:
        for name in options.instances or ((*SINGLE, *WITHOUT_LAPX) if n < max(GPU_SIZES) else LARGEST):
            cost = instances.DENSE[name](n, np.random.default_rng(n))
            held = device_array(cost)
            assign.solve(held).check()
            card, found = on_gpu(partial(assign.solve, held), options.repeats)
            few = options.repeats if n <= COMPARED else 1
            times = {"on card": card, "transfers": on_gpu(partial(assign.solve, cost, device="cuda"), few)[0]}
            times["auction"] = found.stats["auction_seconds"]
            variant = "-"
            if n <= COMPARED:
                for device in ("cpu", "auto"):
                    times[device] = on_gpu(partial(assign.solve, cost, device=device), options.repeats)[0]
                if "lapx" in baselines.installed("assignment") and name not in WITHOUT_LAPX:
                    # Seconds each at COMPARED rows: then one that is among the fastest.
                    run = baselines.assignment_lapx(cost, LAPX if n < COMPARED else LAPX[:1])
                    total, times["lapx"] = timing.timed(run)
                    variant = run.__name__
                    if total != found.cost:
                        raise AssertionError(f"{name}: lapx {variant} found {total}, not {found.cost}")
            for who in ("cpu", "lapx"):
                ratios.setdefault(f"{who} / on card", []).append(ratio(times.get(who), card))
            row = {"instance": name, "size": str(n), "method": found.method, "certified": "✓"}
            yield row | {f"{who} ms": milliseconds(seconds) for who, seconds in times.items()} | {"lapx's": variant}


def gpu_batches(options, ratios):
    baseline = torch_baseline()
    for count, n in GPU_BATCHES:
        for name in GPU_BATCHED:
            costs = batch_of(name, count, n, np.random.default_rng(n))
            held = device_array(costs)
            assign.solve_batch(held).check()
            card, _ = on_gpu(partial(assign.solve_batch, held), options.repeats + 2)
            whole, _ = on_gpu(partial(assign.solve_batch, costs, device="cuda"), 2)
            theirs = on_gpu(baseline(costs), options.repeats)[0] if baseline else None
            ratios.setdefault("torch-linear-assignment / on card", []).append(ratio(theirs, card))
            row = {"batch": name, "size": f"{count} x {n}", "certified": "✓", "on card ms": milliseconds(card)}
            yield row | {"transfers ms": milliseconds(whole), "torch-linear-assignment ms": milliseconds(theirs)}


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


TABLES = {part: partial(single, part) for part in FAMILIES} | {"batch": batches}
GPU_TABLES = {"dense": gpu_single, "batch": gpu_batches}


def parser():
    options = command.parser("assign", __doc__, "assign-{device}", devices=True, repeats=5)
    options.add_argument("instances", nargs="*", help="families (default: all)")
    options.add_argument(
        "--sizes", type=lambda s: [int(n) for n in s.split(",")], help="numbers of rows, e.g. 1000,2000"
    )
    for part in TABLES | GPU_TABLES:
        options.add_argument(f"--{part}", action="store_true", help="make this table (default: all tables)")
    return options
