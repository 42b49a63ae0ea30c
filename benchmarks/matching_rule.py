"""`python -m benchmarks matching --device cuda --rule`: is a GPU faster from GPU_MIN_EDGES edges on?

Whole calls of matching.maximum from SciPy matrices to matchings on the host, including transfers to and from the GPU,
on graphs of 2^16 to 2^21 edges.  Every matching is certified once.

auto, cpu, cuda   device= of the call;  1 thread: cpu with threads=1;  auto took: the device that it chose
auto / best       its time over that of the faster of cpu and cuda

The second table is the rule with other limits: the time of the device that each chooses over that of the faster one.
"""

from benchmarks import command
from benchmarks import matching_graphs as graphs
from benchmarks.harness import Worker, measure
from benchmarks.matching_instances import SKEWED
from benchmarks.matching_programs import CpuBench, Program
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
    "uniform 3, 2^{}": (lambda scale: graphs.uniform(1 << scale, 3), 14),
    "delaunay 2^{}": (graphs.delaunay_by_strips, 13),
    "rgg 2^{}": (lambda scale: graphs.random_geometric(scale, 15), 12),
    "rgg 2^{} permuted": (lambda scale: graphs.permuted(graphs.random_geometric(scale, 15)), 12),
    "kron 2^{}": (lambda scale: graphs.rmat(scale, 16, SKEWED, both=True), 11),
    "road {}^2": (lambda scale: graphs.road(int(2 ** (scale / 2)), 0.3), 14),
}
SIZES = range(16, 22)  # powers of two
ONCE_ABOVE = 1.0  # seconds; a call that takes longer is timed once


def instances():
    """(name, function) of all graphs, smaller ones first."""
    for step in range(len(SIZES)):
        for name, (make, first) in FAMILIES.items():
            scale = first + step
            shown = int(2 ** (scale / 2)) if "road" in name else scale
            yield name.format(shown), lambda make=make, scale=scale: make(scale)


def run(rounds: int) -> str:
    """The tables."""
    programs = [Program(who, "auto", "auto", how) for who, how in HOW.items()]
    times = []

    def row(name, make):
        found = measure(name, Worker(make(), None, CpuBench), programs, rounds, ONCE_ABOVE)
        found.raise_failures()
        taken = found.seconds
        times.append((found.entries, taken))
        best = min(taken["cpu"], taken["cuda"])
        cells = [f"{1e3 * taken[who]:.2f}" for who in HOW]
        return [name, str(found.entries), found.ran["auto"].stats["device"], *cells, f"{taken['auto'] / best:.2f}"]

    rows = command.shown(row(name, make) for name, make in instances())
    columns = ["graph", "entries", "auto took", *(f"{who} ms" for who in HOW), "auto / best"]
    return f"{markdown(columns, rows)}\n\n{rules(times)}"


def rules(times) -> str:
    """The cost of the rule with other limits; `times`: (entries, seconds of each of HOW) of each graph."""
    rows = []
    for power in SIZES:
        limit = 1 << power
        excess = []
        for entries, taken in times:
            best = min(taken["cpu"], taken["cuda"])
            excess.append(taken["cuda" if entries >= limit else "cpu"] / best)
        now = " (now)" * (limit == GPU_MIN_EDGES)
        rows.append([f"{limit}{now}", f"{geometric_mean(excess):.3f}", f"{max(excess):.2f}"])
    return markdown(["minimum edges for a GPU", "times the faster one, geometric mean", "most"], rows)
