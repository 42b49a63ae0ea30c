"""Fagginger Auer, Bisseling, "A GPU algorithm for greedy graph matching" (2011): Fig. 2, 3, 5 and equation 2.

Graphs of the families of its test sets: a grid of four neighbours (ecology1), Delaunay, random geometric, Graph500.
Vertices are permuted at random first, as in the paper; weights are random and depend on the edge alone.
"""

from functools import partial

import numpy as np

import matching
from benchmarks import matching_graphs as graphs
from benchmarks.greedy import plain, renumbered, weighed
from benchmarks.matching_instances import SKEWED
from benchmarks.papers.sections import (
    Section,
    count,
    least_processor_time,
    number,
    repeated,
    spread,
)

TITLE = "Fagginger Auer, Bisseling 2011, repeated"
BEST_P = 0.53406
PERMUTATIONS = 32
SELECT = ("first", "random")

ON_GPU = (
    ("Fig. 5 (a), (c), (e), speed of the GPU; transfers", "greedy --device cuda"),
    (
        "the same graphs as in the paper's range of sizes",
        "greedy --device cuda 'grid 1000^2' 'delaunay 2^20' 'rgg 2^18'",
    ),
)


def families(quick: bool, scale: int = 15) -> dict:
    """The graphs, of 2^scale vertices, or tiny ones."""
    scale = 8 if quick else scale
    return {
        "grid (ecology1)": graphs.road(1 << scale // 2, 0.0),
        "delaunay": graphs.delaunay(scale),
        "rgg": graphs.random_geometric(scale, 15.0),
        "Graph500": graphs.rmat(scale, 16, SKEWED, both=True),
    }


def greedy(graph, **given):
    """A certified greedy matching."""
    found = matching.greedy(graph, device="cpu", **given)
    found.check()
    return found


def share_of_first_round(p):
    """Equation 2."""
    p = np.asarray(p)
    return 2 * (1 - p) * (1 - np.exp(-p / (1 - p)))


def iterations(quick: bool):
    """Fig. 2: share of the vertices matched after each round."""
    rows = []
    for name, graph in families(quick).items():
        graph = plain(renumbered(graph, 0))
        for select in SELECT:
            found = greedy(graph, method="parallel", select=select)
            shares = np.cumsum(found.stats["matched"]) / graph.shape[0]
            row = [name, select, str(found.stats["rounds"])]
            rows.append(row + [number(100 * shares[min(i, len(shares)) - 1], 1) for i in (1, 2, 3, 5, 8, 12, 100)])
    columns = ["graph", "select", "rounds", *(f"after {i}, %" for i in (1, 2, 3, 5, 8, 12)), "in the end, %"]
    yield Section("Fig. 2", "Matched vertices after rounds of algorithm 3.", columns, rows)


def probability(quick: bool):
    """Fig. 3: size, weight and rounds by p, and the share matched in the first round against equation 2."""
    rows = []
    tried = (0.3, BEST_P, 0.7) if quick else (0.1, 0.2, 0.3, 0.4, 0.45, 0.5, BEST_P, 0.55, 0.6, 0.7, 0.8, 0.9)
    graph = renumbered(families(quick)["grid (ecology1)"], 0)
    heavy = weighed(graph)
    for p in tried:
        row = [f"{p:g}", number(100 * share_of_first_round(p), 1)]
        for select in SELECT:
            found = greedy(plain(graph), method="parallel", select=select, p=p)
            first = 100 * found.stats["matched"][0] / graph.shape[0]
            row += [number(first, 1), count(found.cardinality), str(found.stats["rounds"]), count(found.stats["edges"])]
        weight = greedy(heavy, method="parallel", p=p).weight
        rows.append([*row, number(weight, 0)])
    columns = ["p", "eq. 2, %"]
    for select in SELECT:
        columns += [f"{select}: first round, %", f"{select}: pairs", f"{select}: rounds", f"{select}: entries"]
    note = "The grid, permuted. Entries: entries of neighbour lists that were scanned. Weight: select by heaviest edge."
    yield Section("Fig. 3", note, [*columns, "weight"], rows)


def random_graphs(quick: bool):
    """Equation 2: the share of the first round does not depend on the density."""
    n = 1 << (9 if quick else 15)
    rows = []
    for degree in (3, 5, 10, 20, 40):
        rng = np.random.default_rng(degree)
        low, high = rng.integers(0, n, (2, n * degree // 2), np.int32)
        graph = plain(graphs.undirected(low, high, n))
        row = [str(degree), number(100 * float(share_of_first_round(BEST_P)), 1)]
        for select in SELECT:
            found = greedy(graph, method="parallel", select=select)
            row += [number(100 * found.stats["matched"][0] / n, 1), str(found.stats["rounds"])]
            row += [number(200 * found.cardinality / n, 1)]
        rows.append(row)
    columns = ["mean degree", "eq. 2, %"]
    for select in SELECT:
        columns += [f"{select}: first round, %", f"{select}: rounds", f"{select}: matched, %"]
    yield Section("Equation 2", f"Random graphs of {count(n)} vertices, p = {BEST_P}.", columns, rows)


RATIOS = {  # name: (quantity, one, other, the paper's)
    "pairs, parallel / random": ("cardinality", "parallel", "random", "> 99 %"),
    "pairs, random select, parallel / random": (
        "cardinality",
        "parallel, random select",
        "random, random select",
        "> 99 %",
    ),
    "weight, parallel / weighted": ("weight", "parallel, heaviest", "weighted", "115 %"),
    "weight, parallel / sorted": ("weight", "parallel, heaviest", "sorted", "85 %"),
    "weight, parallel / weighted, skewed": ("weight", "parallel, heaviest, skewed", "weighted, skewed", "115 %"),
    "weight, parallel / sorted, skewed": ("weight", "parallel, heaviest, skewed", "sorted, skewed", "85 %"),
}


def programs(graph, seed: int) -> dict:
    """Callables of all matchings of one permutation of a graph."""
    number_of = plain(graph)
    heavy = weighed(graph)
    skewed = heavy.copy()
    skewed.data = 10.0 ** (8 * heavy.data - 8)  # over eight decades, as entries of matrices are
    found = {
        "random": partial(greedy, number_of, method="random", shuffled=False),
        "random, random select": partial(
            greedy, number_of, method="random", shuffled=False, select="random", seed=seed
        ),
        "parallel": partial(greedy, number_of, method="parallel", seed=seed),
        "parallel, random select": partial(greedy, number_of, method="parallel", seed=seed, select="random"),
    }
    for end, weights in (("", heavy), (", skewed", skewed)):
        found[f"weighted{end}"] = partial(greedy, weights, method="weighted", shuffled=False)
        found[f"sorted{end}"] = partial(greedy, weights, method="sorted")
        found[f"parallel, heaviest{end}"] = partial(greedy, weights, method="parallel", seed=seed)
    return found


def qualities(quick: bool):
    """Fig. 5 (b), (d), (f): ratios of sizes and weights over random permutations of the vertices."""
    permutations = 3 if quick else PERMUTATIONS
    rows = []
    for name, graph in families(quick, 13).items():
        results = [
            {who: run() for who, run in programs(renumbered(graph, seed), seed).items()} for seed in range(permutations)
        ]
        for ratio, (what, one, other, paper) in RATIOS.items():
            found = [100 * getattr(of[one], what) / getattr(of[other], what) for of in results]
            rows.append([name, ratio, paper, spread(found), number(min(found)), number(max(found))])
    note = (
        f"Mean and standard deviation over {permutations} permutations of graphs of 2^13 vertices. Weights are uniform "
        "in (0, 1], or over eight decades (skewed). Algorithm 1: `random` and `weighted`; algorithm 2: `sorted`."
    )
    columns = ["graph", "ratio, %", "paper", "mean ± deviation", "least", "largest"]
    yield Section("Fig. 5, quality", note, columns, rows)


def serial(program: str) -> dict:
    """One thread for algorithm 3: with two, its time on a shared machine is that of waiting for the other."""
    return {"threads": 1} if program.startswith("parallel") else {}


def speeds(quick: bool):
    """Fig. 5 (a), (c), (e), the CPU's part: time of the serial algorithms over that of algorithm 3."""
    repeats = 1 if quick else 25
    rows = []
    for name, graph in families(quick).items():
        runs = programs(renumbered(graph, 0), 0)
        runs = {who: run for who, run in runs.items() if "skewed" not in who}
        alone = {
            who: partial(matching.greedy, *run.args, **run.keywords, device="cpu", **serial(who))
            for who, run in runs.items()
        }
        for run in alone.values():
            run()
        seconds, _ = least_processor_time(alone, repeats)
        row = [name, number(seconds["random"] / seconds["parallel"])]
        row += [number(seconds["random, random select"] / seconds["parallel, random select"])]
        row += [number(seconds[who] / seconds["parallel, heaviest"]) for who in ("weighted", "sorted")]
        rows.append([*row, repeated(seconds)])
    columns = ["graph", "random / parallel", "the same, random select"]
    columns += ["weighted / parallel, heaviest", "sorted / parallel, heaviest", "random again / random"]
    note = (
        "Processor times of calls of the serial algorithms over those of algorithm 3 on one thread, minima of "
        f"{repeats}, interleaved. The paper's TBB program: at most 1.1, 0.7 and 13 with 16 threads."
    )
    yield Section("Fig. 5, speed on a CPU", note, columns, rows)


EXPERIMENTS = (iterations, probability, random_graphs, qualities, speeds)
