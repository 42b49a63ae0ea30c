"""`python -m benchmarks small`: one small assignment or grid per call, in microseconds, against other programs.

Assignments are square, n rows: whole numbers to n and to 10^6, distances (geometric), Machol-Wien, and uniform floats.
lapx, lapcpp and laprust get float64, which is what they solve, converted before the clock starts.

ours, pairs   assign.linear_sum_assignment
ours          assign.solve, with prices and a certificate
ratio         the best of lapx, lapcpp and laprust divided by assign.solve

Grids have n x n pixels and four neighbours: independent noise, and a noisy disc with a constant smoothness.  PyMaxflow
builds its graph, solves and reads its labels.  "changed" is a Solver's update of 1 % of the pixels and its solve.

ratio         PyMaxflow divided by gridcut.max_flow

The least of up to --rounds rounds, since a busy machine interrupts some calls for longer than they take; every round
runs each program once.  A row appears only if our results are certified and all programs agree.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment

import assign
import gridcut
from benchmarks import baselines, command
from benchmarks.assign_instances import DENSE
from benchmarks.instances import Problem
from benchmarks.table import geometric_mean, markdown
from benchmarks.timing import least

ROWS = (10, 30, 60, 100, 200, 300, 400, 600)
SIDES = (8, 16, 32, 64, 128)
FAMILIES = {
    "u[0,n]": DENSE["u[0,n]"],
    "u1e6": DENSE["u1e6"],
    "geometric": DENSE["geometric 1e3"],
    "Machol-Wien": DENSE["Machol-Wien"],
    "floats": lambda n, rng: rng.random((n, n)),
}
CHANGED_SHARE = 0.01


def main(argv):
    options = _parser().parse_args(argv)
    report = command.begin("Small problems", ["scipy", "lapx", "lapcpp", "laprust", "PyMaxflow", "numba", "numpy"])
    tables = []
    if options.rows:
        tables.append(assignments(options.rows, options.rounds))
        print(tables[-1], flush=True)
    if options.sides:
        tables.append(grids(options.sides, options.rounds))
        print(tables[-1], flush=True)
    return command.finish(report, "\n\n".join(tables), options.save, shown=False)


def assignments(rows, rounds):
    table, ratios = [], []
    for n in rows:
        for family, build in FAMILIES.items():
            cost = build(n, np.random.default_rng(n))
            found = assign.solve(cost)
            found.check()
            others = {name: one.prepare(cost) for name, one in baselines.installed("small assignment").items()}
            row, col = linear_sum_assignment(cost)
            totals = [cost[row, col].sum(), *(run() for run in others.values())]
            row, col = assign.linear_sum_assignment(cost)
            totals.append(cost[row, col].sum())
            if not np.allclose(totals, found.cost, rtol=1e-9, atol=0):
                raise AssertionError(f"{family}, n = {n}: the programs disagree: {found.cost}, {totals}")
            runs = {
                "ours, pairs": lambda cost=cost: assign.linear_sum_assignment(cost),
                "ours": lambda cost=cost: assign.solve(cost),
                "SciPy": lambda cost=cost: linear_sum_assignment(cost),
                **others,
            }
            taken = least(runs, rounds)[0]
            ratio = min((taken[name] for name in others), default=np.nan) / taken["ours"]
            ratios.append((n, ratio))
            table.append([family, n, found.method, *(f"{1e6 * taken[name]:.1f}" for name in runs), f"{ratio:.2f}"])
    text = markdown(["costs", "n", "method", *runs, "ratio"], table)
    large = [ratio for n, ratio in ratios if n >= 100]
    if others and large:
        text += f"\n\nFrom n = 100 on: {geometric_mean(large):.2f} times the best of them in geometric mean, "
        text += f"minimum {min(large):.2f}."
    return text


def noise(n, rng):
    """Independent capacities."""
    source, sink, right, down = (rng.integers(0, high, (n, n), dtype=np.int32) for high in (100, 100, 50, 50))
    return Problem(source, sink, {(0, 1): right, (1, 0): down})


def disc(n, rng):
    """A noisy disc, restored with a constant smoothness."""
    y, x = np.mgrid[:n, :n] - (n - 1) / 2
    seen = np.rint(40.0 * (np.hypot(y, x) < n / 3) - 20 + rng.normal(0, 40, (n, n))).astype(np.int32)
    smoothness = np.full((n, n), 60, np.int32)
    return Problem(np.maximum(seen, 0), np.maximum(-seen, 0), {(0, 1): smoothness, (1, 0): smoothness})


def grids(sides, rounds):
    table = []
    baseline = baselines.BASELINES["grids"]["PyMaxflow"]
    for n in sides:
        for name, build in (("noise", noise), ("disc", disc)):
            rng = np.random.default_rng(n)
            problem = build(n, rng)
            cut = gridcut.max_flow(problem.source, problem.sink, problem.edges, device="cpu")
            cut.check()
            others = {"PyMaxflow": baseline.prepare(problem)} if baseline.installed else {}
            if others and others["PyMaxflow"]()[0] != cut.value:
                raise AssertionError(f"{name}, n = {n}: PyMaxflow disagrees with {cut.value}")
            solver = gridcut.Solver(problem.source, problem.sink, problem.edges, device="cpu")
            solver.solve().check()
            pixels = np.unravel_index(rng.choice(n * n, max(1, int(CHANGED_SHARE * n * n)), replace=False), (n, n))
            values = [rng.integers(0, 100, len(pixels[0]), dtype=np.int32) for _ in range(2)]

            def change(solver=solver, pixels=pixels, values=values):
                values.reverse()
                solver.update(source=values[0], where=pixels)
                return solver.solve()

            change().check()
            runs = {
                "ours": lambda problem=problem: gridcut.max_flow(
                    problem.source, problem.sink, problem.edges, device="cpu"
                ),
                **others,
                "changed": change,
            }
            taken = least(runs, rounds)[0]
            ratio = taken["PyMaxflow"] / taken["ours"] if others else np.nan
            table.append([name, f"{n}²", *(f"{1e6 * taken[run]:.1f}" for run in runs), f"{ratio:.2f}"])
    return markdown(["grid", "pixels", *runs, "ratio"], table)


def _parser():
    parser = command.parser("small", __doc__, "small-cpu")
    parser.add_argument("--rows", nargs="*", type=int, default=list(ROWS), metavar="N", help="rows of the matrices")
    parser.add_argument("--sides", nargs="*", type=int, default=list(SIDES), metavar="N", help="sides of the grids")
    parser.add_argument("--rounds", type=int, default=300, metavar="N", help="at most this many (default: 300)")
    return parser
