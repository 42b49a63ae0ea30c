"""`python -m benchmarks matching --device cuda --rule`: whether a GPU is faster from GPU_MIN_EDGES edges on.

Whole calls of matching.maximum from SciPy matrices to matchings on the host, with the way to the GPU and back, on
graphs of 2^16 to 2^24 edges.  Every matching is certified, once.

auto, cpu, cuda   device= of the call;  1 thread: cpu with threads=1;  auto took: where it ran
auto / best       its time over that of the faster of cpu and cuda

The second table is the rule with other numbers: the device that each says, its time over that of the faster one.
"""

import time
from statistics import median

import matching
from benchmarks import matching_instances as instances
from benchmarks import matching_large as large
from benchmarks.matching_cuda_instances import SKEWED
from benchmarks.table import geometric_mean, markdown
from matching.methods import GPU_MIN_EDGES

HOW = {
    "auto": {"device": "auto"},
    "cpu": {"device": "cpu"},
    "1 thread": {"device": "cpu", "threads": 1},
    "cuda": {"device": "cuda"},
}
# name -> (function of a scale, scales from which on there are 2^16 edges)
FAMILIES = {
    "uniform 3, 2^{}": (lambda scale: instances.uniform(1 << scale, 3), 14),
    "delaunay 2^{}": (large.delaunay, 13),
    "rgg 2^{}": (lambda scale: large.near(scale, 15), 12),
    "rgg 2^{} permuted": (lambda scale: large.permuted(large.near(scale, 15)), 12),
    "kron 2^{}": (lambda scale: large.skewed(scale, 16, SKEWED), 11),
    "road {}^2": (lambda scale: large.road(int(2 ** (scale / 2)), 0.3), 14),
}
SIZES = range(16, 25)  # powers of two


def graphs():
    """(name, function) of all graphs, smaller ones first."""
    for step in range(len(SIZES)):
        for name, (make, first) in FAMILIES.items():
            scale = first + step
            shown = int(2 ** (scale / 2)) if "road" in name else scale
            yield name.format(shown), lambda make=make, scale=scale: make(scale)


def measure(graph, runs: int, seconds: float):
    """(entries, where auto ran, median seconds of each of HOW): `runs` rounds, fewer once they took `seconds`."""
    taken = {who: [] for who in HOW}
    sizes = set()
    for who, how in HOW.items():  # compiles
        found = matching.maximum(graph, **how)
        found.check()
        sizes.add(found.cardinality)
        if who == "auto":
            ran_on = found.device
    if len(sizes) > 1:
        raise AssertionError(f"matchings of {sizes} pairs")
    begin = time.perf_counter()
    for turn in range(runs):
        if turn and time.perf_counter() - begin > seconds:
            break
        for who, how in HOW.items():
            start = time.perf_counter()
            matching.maximum(graph, **how)
            taken[who].append(time.perf_counter() - start)
    return graph.nnz, ran_on, {who: median(some) for who, some in taken.items()}


def run(runs: int, seconds: float = 4.0) -> str:
    """The tables."""
    rows, measured = [], []
    for name, make in graphs():
        entries, ran_on, taken = measure(make(), runs, seconds)
        measured.append((entries, taken))
        best = min(taken["cpu"], taken["cuda"])
        cells = [f"{1e3 * taken[who]:.2f}" for who in HOW]
        rows.append([name, str(entries), ran_on, *cells, f"{taken['auto'] / best:.2f}"])
        print(*rows[-1], flush=True)
    columns = ["graph", "entries", "auto took", *(f"{who} ms" for who in HOW), "auto / best"]
    return f"{markdown(columns, rows)}\n\n{rules(measured)}"


def rules(measured) -> str:
    """What the rule would have cost with other numbers."""
    rows = []
    for power in SIZES:
        least = 1 << power
        lost = []
        for entries, taken in measured:
            best = min(taken["cpu"], taken["cuda"])
            lost.append(taken["cuda" if entries >= least else "cpu"] / best)
        now = " (now)" * (least == GPU_MIN_EDGES)
        rows.append([f"{least}{now}", f"{geometric_mean(lost):.3f}", f"{max(lost):.2f}"])
    return markdown(["a GPU from so many edges", "times the faster one, geometric mean", "most"], rows)
