"""`python -m benchmarks assign`: the assignment problem, against SciPy, lapx and OR-tools.

Every program gets its costs in the form that suits it, prepared before the clock starts; filling OR-tools' graph is
timed.  Programs run interleaved on the same instance; times are medians in milliseconds.  "lapx" is the fastest of its
variants on the instance, whose name follows the time.  Programs that take more than ONCE_ABOVE seconds are timed once.

A row appears only if the assignment's certificate holds and all programs agree on the cost.
"""

import numpy as np

import assign
from benchmarks import assign_instances as instances
from benchmarks import baselines, command
from benchmarks.table import geometric_mean, markdown, number
from benchmarks.timing import rounds

SIZES = (1000, 2000, 4000)
SPARSE_SIZE = 20_000
ONCE_ABOVE = 4.0  # seconds
BATCHES = ((1000, 30), (256, 64), (64, 256))


def main(argv):
    options = parser().parse_args(argv)
    if options.device == "cuda":
        from benchmarks import assign_cuda

        return assign_cuda.main(options)
    report = command.begin("assign on a CPU", ["numba", "numpy", "scipy", "lapx", "ortools"])
    parts = []
    every = not (options.dense or options.rectangular or options.sparse or options.batch or options.methods)
    if options.dense or every:
        parts.append(dense_table(instances.DENSE, options))
    if options.rectangular or every:
        parts.append(dense_table(instances.RECTANGULAR, options, sizes=(1000,)))
    if options.sparse or every:
        parts.append(dense_table(instances.SPARSE, options, sizes=(SPARSE_SIZE,)))
    if options.batch or every:
        parts.append(batch_table(options))
    if options.methods or every:
        parts.append(methods_table(options))
    return command.finish(report, "\n\n".join(parts), options.save)


def dense_table(families, options, sizes=None):
    columns = ["instance", "size", "method", "certified", "ours ms", "SciPy ms", "lapx ms", "", "OR-tools ms"]
    columns += ["SciPy / ours", "lapx / ours", "OR-tools / ours"]
    ratios = []
    rows = command.shown(
        measure(name, families[name](n, np.random.default_rng(n)), options, ratios)
        for n in options.sizes or sizes or SIZES
        for name in options.instances or families
        if name in families
    )
    lines = [markdown(columns, rows)]
    means = []
    for i, baseline in enumerate(baselines.BASELINES["assignment"]):
        found = [ratio[i] for ratio in ratios if ratio[i]]
        if found:
            means.append([baseline, str(len(found)), f"{geometric_mean(found):.2f}", f"{min(found):.2f}"])
    if len(ratios) > 1 and means:
        lines += ["", markdown(["baseline / ours", "instances", "geometric mean", "least"], means)]
    return "\n".join(lines)


def measure(name, cost, options, ratios):
    """One row; adds the baselines' times over ours."""
    runs = {"ours": lambda: assign.solve(cost, device="cpu")}
    found = runs["ours"]()  # compiles
    found.check()
    for baseline, program in baselines.installed("assignment").items():
        if run := program.prepare(cost):
            runs[baseline] = run
    seconds, results = rounds(runs, options.repeats, ONCE_ABOVE)
    if results["ours"].cost != found.cost or any(results[r] != found.cost for r in runs if r != "ours"):
        raise AssertionError(f"{name}: costs differ: { {r: getattr(x, 'cost', x) for r, x in results.items()} }")
    ratio = [seconds[r] / seconds["ours"] if r in seconds else None for r in baselines.BASELINES["assignment"]]
    ratios.append(ratio)

    def shown(baseline):
        return f"{1e3 * seconds[baseline]:.2f}" if baseline in seconds else "-"

    size = "x".join(map(str, cost.shape))
    variant = getattr(runs.get("lapx"), "__name__", "")
    times = [shown("ours"), shown("SciPy"), shown("lapx"), variant, shown("OR-tools")]
    row = [name, size, found.method, "✓", *times]
    return [*row, *map(number, ratio)]


def batch_table(options):
    """Batches on one thread and on all, against lapx's batch functions and a loop over SciPy."""
    import lap
    import numba
    from scipy.optimize import linear_sum_assignment

    columns = ["batch", "size", "certified", "1 thread ms", f"{numba.config.NUMBA_NUM_THREADS} threads ms"]
    columns += ["us a problem", "lapx ms", "", "SciPy ms", "lapx / ours", "SciPy / ours"]
    rows = []
    for count, n in BATCHES:
        for name in instances.BATCHED:
            costs = instances.stack(name, count, n, np.random.default_rng(n))
            double = costs.astype(np.float64)
            expected = assign.solve_batch(costs, device="cpu")
            expected.check()
            runs = {
                "1": lambda costs=costs: assign.solve_batch(costs, device="cpu", threads=1).cost,
                "all": lambda costs=costs: assign.solve_batch(costs, device="cpu").cost,
                "lapjvr": lambda d=double: lap.lapjvr_batch(d, extend_cost=True)[0],
                "lapjvh": lambda d=double: lap.lapjvh_batch(d, extend_cost=True)[0],
                "SciPy": lambda d=double: np.array([m[linear_sum_assignment(m)].sum() for m in d]),
            }
            seconds, results = rounds(runs, options.repeats, ONCE_ABOVE)
            for result in results.values():
                if not np.array_equal(np.asarray(result, np.float64).ravel(), expected.cost):
                    raise AssertionError(f"{name}: costs differ")
            variant = min(("lapjvr", "lapjvh"), key=seconds.get)
            one, lapx, scipy = seconds["1"], seconds[variant], seconds["SciPy"]
            row = [name, f"{count} x {n}", "✓", f"{1e3 * one:.2f}", f"{1e3 * seconds['all']:.2f}"]
            row += [f"{1e6 * one / count:.1f}", f"{1e3 * lapx:.2f}", variant, f"{1e3 * scipy:.2f}"]
            rows.append([*row, f"{lapx / one:.2f}", f"{scipy / one:.2f}"])
            print(" ".join(rows[-1]), flush=True)
    return markdown(columns, rows)


def methods_table(options):
    """Compare the named methods."""
    from assign.methods import METHODS

    columns = ["instance", "size", "method", "parameters", "certified", "ms", "pushes", "relabels"]
    switches = [{}, {"price_updates": False, "arc_fixing": False}]
    rows = []
    for name in ("u100", "u1e6", "geometric 1e3"):
        for n in (30, 200, 1000):
            cost = instances.DENSE[name](n, np.random.default_rng(n))
            for method, entry in METHODS.items():
                if entry.dense_cpu is None:
                    continue
                for given in switches if "cost_scaling" in method else switches[:1]:
                    runs = {method: lambda c=cost, m=method, g=given: assign.solve(c, device="cpu", method=m, **g)}
                    runs[method]().check()
                    seconds, results = rounds(runs, options.repeats, ONCE_ABOVE)
                    stats = results[method].stats
                    shown = ", ".join(f"{k}={v}" for k, v in given.items()) or "-"
                    row = [name, str(n), method, shown, "✓", f"{1e3 * seconds[method]:.2f}"]
                    rows.append([*row, str(stats.get("pushes", "-")), str(stats.get("relabels", "-"))])
                    print(" ".join(rows[-1]), flush=True)
    return markdown(columns, rows)


def parser():
    options = command.parser("assign", __doc__, "assign-cpu")
    options.add_argument("instances", nargs="*", help="families (default: all)")
    options.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    options.add_argument(
        "--sizes", type=lambda s: [int(n) for n in s.split(",")], help="numbers of rows, e.g. 1000,2000"
    )
    for part in ("dense", "rectangular", "sparse", "batch", "methods"):
        options.add_argument(f"--{part}", action="store_true", help="make this table (default: all tables)")
    options.add_argument("--repeats", type=int, default=5)
    return options
