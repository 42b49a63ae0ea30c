"""Łupińska's experiments that need a GPU: CYCLE, sizes of blocks, pushes before a relabel, ALPHA, n = 30.

Milliseconds are medians from arrays on the host to a result on the host; every result is certified before it is timed.
"""

import numpy as np

import assign
import gridcut
from benchmarks import instances
from benchmarks.assign_instances import DENSE
from benchmarks.papers.sections import Section, count, number
from benchmarks.timing import rounds

DEVICE = "cuda"  # the tests put "cpu" here
CYCLES = (500, 1000, 2000, 4000, 7000, 10_000, 20_000, 50_000)
RECTANGLES = ((32, 8), (32, 4), (32, 16), (16, 16), (64, 4), (8, 32))  # of CudaCuts; the paper: 32 × 8
BLOCKS = (32, 64, 128, 256, 512, 1024)
ALPHAS = (2, 4, 7, 10, 16, 32, 64, 100)
GRIDS = ("astronaut", "ising camera", "grey camera x4")
REPEATS = 3
KEPT: dict[str, dict] = {}  # by method, parameters of all its sweeps


def cut_sweep(method: str, parameter: str, values, problem) -> list[list[str]]:
    """Rows of one parameter: its value, milliseconds and counts."""

    def solve(value):
        arguments = {"device": DEVICE, "method": method, **KEPT.get(method, {}), parameter: value}
        return gridcut.max_flow(problem.source, problem.sink, problem.edges, **arguments)

    for value in values:
        solve(value).check()
    seconds, cuts = rounds({value: lambda value=value: solve(value) for value in values}, REPEATS, 1.0)
    if len({cut.value for cut in cuts.values()}) != 1:
        raise AssertionError(f"{method}: values differ")
    return [
        [method, f"{parameter} = {value}", number(1e3 * seconds[value], 1)]
        + [count(cuts[value].stats.get(key, 0)) for key in ("pushes", "relabels", "launches", "global_relabels")]
        for value in values
    ]


def cuts(quick: bool):
    """Sections 4.3 and 4.6."""
    rows = []
    for name in GRIDS[:1] if quick else GRIDS:
        problem = instances.SUITE[name]()
        found = cut_sweep("hybrid", "cycle", CYCLES[:2] if quick else CYCLES, problem)
        found += cut_sweep("hybrid", "block", BLOCKS[:2] if quick else BLOCKS, problem)
        found += cut_sweep("cudacuts", "pushes", (1, 2) if quick else (1, 2, 4, 8), problem)
        found += cut_sweep("cudacuts", "block", RECTANGLES[:2] if quick else RECTANGLES, problem)
        rows += [[name, *row] for row in found]
    columns = ["grid", "method", "parameter", "ms", "pushes", "relabels", "launches", "global relabelings"]
    yield Section("CYCLE, blocks, and pushes before a relabel (§4.3, §4.6)", "", columns, rows)


def assignments(quick: bool):
    """Sections 5.5 and 6."""
    rows = []
    for n in (30,) if quick else (30, 100, 200):
        cost = DENSE["u100"](n, np.random.default_rng(7))
        best = assign.solve(cost, method="jonker_volgenant", device="cpu").cost
        tried = [{"alpha": alpha} for alpha in ALPHAS]
        tried += [
            {"price_updates": updates, "arc_fixing": fixing} for updates in (True, False) for fixing in (True, False)
        ]
        tried += [{"block": block} for block in BLOCKS] if DEVICE == "cuda" else []
        runs = {
            str(of): lambda of=of: assign.solve(cost, method="lock_free", device=DEVICE, **of)  # noqa: B023
            for of in tried
        }
        for run in runs.values():
            found = run()
            found.check()
            if found.cost != best:
                raise AssertionError("another cost than jonker_volgenant")
        seconds, results = rounds(runs, REPEATS, 1.0)
        for key, found in results.items():
            counts = [count(found.stats[of]) for of in ("refines", "pushes", "relabels")]
            rows.append([str(n), key, number(1e3 * seconds[key], 1), *counts])
    columns = ["n", "parameters", "ms", "refines", "pushes", "relabels"]
    yield Section("ALPHA, heuristics and blocks; n = 30 in 50 ms (§5.5, §6)", "", columns, rows)


EXPERIMENTS = (cuts, assignments)
