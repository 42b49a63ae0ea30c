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
CYCLES = (500, 1000, 2000, 4000, 10_000, 20_000, 50_000)  # besides the default of `hybrid`, 7000
RECTANGLES = ((32, 4), (32, 16), (16, 16), (64, 4), (8, 32))  # of CudaCuts, besides its default, 32 × 8
BLOCKS = (32, 64, 128, 256, 512, 1024)
PUSHES = (2, 4, 8)  # of CudaCuts before a relabel, besides 1
TEST_EVERY = 128  # launches between two exact tests of CudaCuts, whatever the number of pushes
ALPHAS = (2, 4, 7, 16, 32, 64, 100)  # besides 10
GRIDS = ("astronaut", "ising camera", "grey camera x4")
DEFAULTS = {"default": {}, "default, again": {}}  # in every sweep: no smaller difference is an effect
REPEATS = 3


def cut_sweep(method: str, tried: list[dict], problem) -> list[list[str]]:
    """Rows of the default, twice, and of other parameters: milliseconds and counts."""

    def solve(given):
        return gridcut.max_flow(problem.source, problem.sink, problem.edges, device=DEVICE, method=method, **given)

    settings = DEFAULTS | {name_of(given): given for given in tried}
    for given in settings.values():
        solve(given).check()
    runs = {name: lambda given=given: solve(given) for name, given in settings.items()}
    seconds, cuts = rounds(runs, REPEATS, 1.0)
    if len({cut.value for cut in cuts.values()}) != 1:
        raise AssertionError(f"{method}: values differ")
    return [
        [method, name, number(1e3 * seconds[name], 1)]
        + [count(cuts[name].stats.get(key, 0)) for key in ("pushes", "relabels", "launches", "global_relabels")]
        for name in settings
    ]


def name_of(given: dict) -> str:
    return ", ".join(f"{key} = {value}" for key, value in given.items())


def cuts(quick: bool):
    """Sections 4.3 and 4.6."""
    pushed = [{"pushes": m, "global_every": max(1, TEST_EVERY // (1 + m))} for m in PUSHES]
    swept = {
        "hybrid": ([{"cycle": cycle} for cycle in CYCLES], [{"block": block} for block in BLOCKS]),
        "cudacuts": (pushed, [{"block": block} for block in RECTANGLES]),
    }
    rows = []
    for name in GRIDS[:1] if quick else GRIDS:
        problem = instances.SUITE[name]()
        for method, sweeps in swept.items():
            for tried in sweeps:
                rows += [[name, *row] for row in cut_sweep(method, tried[:1] if quick else tried, problem)]
    note = (
        "Each sweep includes the default twice. CudaCuts: `global_every` is such that exact tests are as many launches "
        "apart for every number of pushes."
    )
    columns = ["grid", "method", "parameter", "ms", "pushes", "relabels", "launches", "global relabelings"]
    yield Section("CYCLE, blocks, and pushes before a relabel (§4.3, §4.6)", note, columns, rows)


def assignments(quick: bool):
    """Sections 5.5 and 6."""
    rows = []
    for n in (30,) if quick else (30, 100, 200):
        cost = DENSE["u100"](n, np.random.default_rng(7))
        best = assign.solve(cost, method="jonker_volgenant", device="cpu").cost
        tried = [{"alpha": alpha} for alpha in ALPHAS]
        tried += [
            {"price_updates": updates, "arc_fixing": fixing}
            for updates, fixing in ((True, False), (False, True), (False, False))
        ]
        tried += [{"block": block} for block in BLOCKS] if DEVICE == "cuda" else []
        runs = {
            name: lambda of=of: assign.solve(cost, method="lock_free", device=DEVICE, **of)  # noqa: B023
            for name, of in (DEFAULTS | {name_of(of): of for of in tried}).items()
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
    note = "The default is alpha = 10, blocks of 512 threads and both heuristics; it is listed twice."
    yield Section("ALPHA, heuristics and blocks; n = 30 in 50 ms (§5.5, §6)", note, columns, rows)


EXPERIMENTS = (cuts, assignments)
