"""`python -m benchmarks points`: assignments of points in the plane, against sparse matchers and trackpy's linker.

    moved      each point of a frame moved by 0.3 of the mean distance; all are matched
    limited    independent random points, with a cost of leaving a point unmatched of one mean distance
    random     independent random points; all are matched

Every result of cutmatch is certified, and the time of its certificate is shown.  Memory is that of the solve at its
peak, beyond the points.  Everything is run once on few points before, so that no time is that of compiling.  The peers
get the pairs within a radius from k-d trees, as their users find them, in the time measured: SciPy's
min_weight_full_bipartite_matching and lapx's lapmod, which need all rows matched within the radius and so run on moved
points only, and trackpy's linker, which is not exact.  A peer that finds no matching within the radius, or is not
installed, has no time.
"""

import ctypes
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from scipy.spatial import cKDTree

import assign
from benchmarks import command
from benchmarks.probe import resident
from benchmarks.table import markdown

KINDS = {"moved": ("SciPy", "lapmod", "trackpy"), "limited": ("trackpy",), "random": ()}  # with their peers
RADIUS = 3.0  # mean distances
MOST_FOR_PEERS, MOST_RANDOM = 20_000, 10**5  # points


def main(argv):
    parser = command.parser("points", __doc__, "points-cpu")
    parser.add_argument(
        "--sizes", type=int, nargs="+", metavar="N", default=(10**4, 10**5, 10**6), help="numbers of points"
    )
    options = parser.parse_args(argv)
    report = command.begin("Assignments of points", ["scipy", "lapx", "trackpy", "numba", "numpy"])
    for name in KINDS:  # compiles
        measured(name, 5000, True)
    rows = command.shown(
        measured(name, size, size <= MOST_FOR_PEERS)
        for size in options.sizes
        for name in (KINDS if size <= MOST_RANDOM else ("moved",))
    )
    columns = ["points", "number", "cutmatch, s", "check, s", "bytes per point", *(f"{peer}, s" for peer in PEERS)]
    return command.finish(report, markdown(columns, rows), options.save)


def measured(name, n, with_peers):
    x, y, limit = frames(name, n)
    ctypes.CDLL(None).malloc_trim(0)  # freed memory is to count again when it is used
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # forget the peak reached so far
    begin = time.perf_counter()
    found = assign.solve_points(x, y, max_cost=limit, device="cpu")
    solved = time.perf_counter()
    peak = resident("VmHWM") - before
    found.check()
    checked = time.perf_counter()
    seconds = [f"{solved - begin:.3g}", f"{checked - solved:.3g}", f"{peak / n:.0f}"]
    for peer, run in PEERS.items():
        seconds.append(timed(run, x, y, found.cost) if with_peers and peer in KINDS[name] else "")
    return [name, str(n), *seconds]


def frames(name, n):
    rng = np.random.default_rng(n)
    x = rng.random((n, 2)) * n**0.5  # the mean distance is near 1
    if name == "moved":
        return x, x + rng.normal(0, 0.3, x.shape), None
    return x, rng.random((n, 2)) * n**0.5, 1.0 if name == "limited" else None


def timed(run, x, y, best):
    """Seconds of a peer, or nothing if it is missing or fails; RuntimeError if it is cheaper than the optimum."""
    begin = time.perf_counter()
    cost = run(x, y)
    seconds = time.perf_counter() - begin
    if cost is None:
        return ""
    if cost < best * (1 - 1e-9):
        raise RuntimeError(f"a peer found {cost}, below the certified minimum {best}")
    return f"{seconds:.3g}"


def near_pairs(x, y):
    pairs = cKDTree(x).sparse_distance_matrix(cKDTree(y), RADIUS, output_type="coo_matrix")
    return csr_array((np.maximum(pairs.data, 1e-12), (pairs.row, pairs.col)), shape=pairs.shape)


def by_scipy(x, y):
    costs = near_pairs(x, y)
    try:
        row, col = min_weight_full_bipartite_matching(costs)
    except ValueError:  # no full matching within the radius
        return None
    return float(np.linalg.norm(x[row] - y[col], axis=1).sum())


def by_lapmod(x, y):
    if find_spec("lap") is None:
        return None
    import lap

    costs = near_pairs(x, y)
    return lap.lapmod(len(x), costs.data, costs.indptr, costs.indices)[0]


def by_trackpy(x, y):
    """trackpy's time; its links are not compared, because it may leave points unmatched."""
    if find_spec("trackpy") is None:
        return None
    from trackpy.linking import SubnetOversizeException, link_iter

    try:
        list(link_iter([x, y], search_range=RADIUS / 2))
    except SubnetOversizeException:  # more than 30 points compete for one another
        return None
    return np.inf


PEERS = {"SciPy": by_scipy, "lapmod": by_lapmod, "trackpy": by_trackpy}
