"""Łupińska, "Parallel implementation of flow and matching algorithms" (2011): heuristics, ALPHA.

The paper has no table; its claims are sentences.  Grids are the middle of the images of benchmarks/instances.py.
"""

from functools import partial

import numpy as np

import assign
import gridcut
from benchmarks import instances
from benchmarks.assign_instances import DENSE
from benchmarks.instances import Problem
from benchmarks.papers import lupinska_gpu
from benchmarks.papers.sections import (
    Section,
    count,
    least_processor_time,
    number,
    repeated,
)

TITLE = "Łupińska 2011, repeated"
GRIDS = {
    "astronaut": partial(instances.segmentation, "astronaut", 1),
    "ising camera": partial(instances.ising, "camera", 1),
    "grey camera, 100": partial(instances.grey_unary, "camera", 1, 100),
}
ALPHAS = (2, 3, 4, 6, 8, 10, 12, 16, 24, 32, 64, 100)
ALGORITHMS = {"5.0": "cost_scaling_v1", "5.1": "cost_scaling_v2", "5.2": "cost_scaling"}
OFF = {"exact_start": False, "global_every": np.inf, "gap": False}
VARIANTS = {
    "generic (4.2)": {},
    "gap": {"gap": True},
    "exact start": {"exact_start": True},
    "global": {"exact_start": True, "global_every": 1.0},
    "global and gap": {"exact_start": True, "global_every": 1.0, "gap": True},
}
PROBLEMS = 20  # of one family and size
SMALLEST = 30  # the paper's size
COSTS = "u100"  # integers up to 100, as in the paper

ON_GPU = (
    ("§4.6 CYCLE and blocks, §4.3 pushes before a relabel, §5.5 ALPHA, §6 n = 30", "papers lupinska --device cuda"),
    (
        "§4.3 to 4.6 the schemes against each other",
        "gridcut --device cuda --method hybrid,lock_free,cudacuts,cudacuts_pull",
    ),
    ("§6 large complete graphs", "assign --device cuda --dense"),
)


def counts_of(problem: Problem, value: int, method: str = "push_relabel", **parameters) -> dict:
    """The counts of a certified solve of `value` by a method."""
    cut = gridcut.max_flow(problem.source, problem.sink, problem.edges, device="cpu", method=method, **parameters)
    cut.check()
    if cut.value != value:
        raise AssertionError(f"{method} {parameters}: value {cut.value}, expected {value}")
    return {**cut.stats, "operations": cut.stats["pushes"] + cut.stats["relabels"]}


def crop(problem: Problem, side: int) -> Problem:
    """The middle of a problem."""
    part = tuple(slice((n - min(side, n)) // 2, (n + min(side, n)) // 2) for n in problem.source.shape)
    edges = {offset: capacity[part].copy() for offset, capacity in problem.edges.items()}
    return Problem(problem.source[part].copy(), problem.sink[part].copy(), edges)


def grids(side: int):
    """(name, problem, value), the value from the certified default."""
    for name, make in GRIDS.items():
        problem = crop(make(), side)
        cut = gridcut.max_flow(problem.source, problem.sink, problem.edges, device="cpu")
        cut.check()
        yield name, problem, cut.value


def heuristics(quick: bool):
    """Section 4.2: relabeling heuristics on and off."""
    side = 24 if quick else 64
    rows = []
    for name, problem, value in grids(side):
        for order in ("fifo", "highest"):
            generic = 0
            for variant, given in VARIANTS.items():
                stats = counts_of(problem, value, **{**OFF, "order": order, **given})
                generic = stats["operations"] if variant == "generic (4.2)" else generic
                row = [name, order, variant, count(stats["pushes"]), count(stats["relabels"])]
                rows.append([*row, count(stats["global_relabels"]), number(generic / stats["operations"], 1)])
    note = (
        f"{side}×{side} pixels. Heights start as low as possible (algorithm 4.1) or as distances (exact start). "
        "Global: every n relabels; the last search, which finds the cut, is counted. Gain: operations of the generic "
        "algorithm over operations."
    )
    columns = ["grid", "order", "variant", "pushes", "relabels", "global relabelings", "gain"]
    yield Section("Heuristics (§4.2)", note, columns, rows)


def problems(n: int, number_of: int, family: str = COSTS):
    rng = np.random.default_rng(7)
    return [DENSE[family](n, rng) for _ in range(number_of)]


def operations(costs, method: str, **parameters) -> dict:
    """Mean counts over certified solves of equal cost."""
    total = dict.fromkeys(("pushes", "relabels", "refines", "price_updates", "arcs_fixed"), 0.0)
    for cost in costs:
        found = assign.solve(cost, method=method, device="cpu", **parameters)
        found.check()
        if found.cost != assign.solve(cost, method="jonker_volgenant", device="cpu").cost:
            raise AssertionError(f"{method} {parameters}: another cost than jonker_volgenant")
        for key in total:
            total[key] += found.stats[key] / len(costs)
    return {**total, "operations": total["pushes"] + total["relabels"]}


def solve_all(costs, method: str, parameters: dict) -> None:
    for cost in costs:
        assign.solve(cost, method=method, device="cpu", **parameters)


def alphas(quick: bool):
    """Section 5.5: ALPHA."""
    sizes = {12: 2} if quick else {SMALLEST: PROBLEMS, 200: 3}
    tried = (2, 10, 100) if quick else ALPHAS
    rows = []
    for n, number_of in sizes.items():
        costs = problems(n, number_of)
        for alpha in tried:
            row = [str(n), str(alpha)]
            for method in ALGORITHMS.values():
                of = operations(costs, method, alpha=alpha)
                row += [number(of["refines"], 1), count(of["operations"]), number(of["price_updates"], 1)]
            rows.append(row)
    columns = ["n", "ALPHA"]
    for name in ALGORITHMS:
        columns += [f"{name}: refines", f"{name}: operations", f"{name}: price updates"]
    means = ", ".join(f"{k} problems of n = {n}" for n, k in sizes.items())
    note = f"Complete graphs, integer costs to 100, means over {means}. Operations: pushes and relabels."
    yield Section("ALPHA (§5.5)", note, columns, rows)


def scaling_heuristics(quick: bool):
    """Section 5.2: price updates and arc fixing on and off, in algorithms 5.0 to 5.2."""
    sizes = {12: 2} if quick else {SMALLEST: PROBLEMS, 100: 5, 300: 2, 800: 1}
    rows = []
    for n, number_of in sizes.items():
        for family in (COSTS, "geometric 1e3"):
            costs = problems(n, number_of, family)
            for name, method in ALGORITHMS.items():
                row = [str(n), family, name]
                for updates, fixing in ((False, False), (True, False), (False, True), (True, True)):
                    of = operations(costs, method, price_updates=updates, arc_fixing=fixing)
                    row.append(count(of["operations"]))
                rows.append([*row, number(of["price_updates"], 1), count(of["arcs_fixed"])])
                runs = {fixing: partial(solve_all, costs, method, {"arc_fixing": fixing}) for fixing in (False, True)}
                seconds, _ = least_processor_time(runs, 1 if quick else 9)
                rows[-1] += [number(seconds[True] / seconds[False]), repeated(seconds)]
    columns = ["n", "costs", "algorithm", "neither", "price updates", "arc fixing", "both"]
    columns += ["price updates, both", "arcs fixed, both", "time, both / price updates", "price updates again"]
    note = (
        "Pushes and relabels per problem with each heuristic on and off; ALPHA = 10. Fixed arcs are not scanned, "
        "which changes no count of this table: the last column is a ratio of processor times, minima of 9, interleaved."
    )
    yield Section("Algorithms 5.0 to 5.2 and their heuristics (§5.1, §5.2)", note, columns, rows)


EXPERIMENTS_ON_GPU = lupinska_gpu.EXPERIMENTS
EXPERIMENTS = (heuristics, alphas, scaling_heuristics)
