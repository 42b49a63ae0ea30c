"""`python -m benchmarks faces`: the functions of compat/ against those of the libraries whose interface they have.

The same call on the same arguments, interleaved, the median of --repeats rounds.  Calls that take less than a
millisecond are repeated in a loop.  A row appears only if both results have equal totals, values or segments.

"conversion" says whether a graph of networkx is converted in each call, or was before.
"""

import time
from functools import partial

import numpy as np
import scipy.optimize
import scipy.sparse
from scipy.sparse import csgraph

import assign
import matching
from assign.compat import lap as our_lap
from benchmarks import command
from benchmarks.graph_instances import grid_edges
from benchmarks.table import markdown
from gridcut.compat.scipy import maximum_flow

COLUMNS = ("face", "problem", "theirs ms", "ours ms", "ratio")
MIN_SECONDS = 0.001  # of one measurement
FEW = 3  # rounds of calls that take long
PACKAGES = ["scipy", "lapx", "PyMaxflow", "networkx", "numba", "numpy"]


def main(argv):
    options = _parser().parse_args(argv)
    report = command.begin("Other libraries' functions", PACKAGES)
    rows = []
    for name in options.faces:
        try:
            rows += command.shown(FACES[name](options.repeats, options.quick))
        except ImportError as error:
            print(f"{name}: left out, {error}")
    return command.finish(report, markdown(COLUMNS, rows), options.save)


def compared(face, problem, theirs, ours, arguments, repeats, value=None):
    """One row of the table, from two callables with the same arguments.

    value   of a result, which must be equal for both; None: not compared
    """
    loops, found = [], []
    for run in (theirs, ours):
        result = run(*arguments)
        begin = time.perf_counter()
        run(*arguments)
        loops.append(max(1, int(MIN_SECONDS / max(time.perf_counter() - begin, 1e-7))))
        found.append(value(result) if value else 0)
    if not np.allclose(*found, rtol=1e-9, atol=0):
        raise AssertionError(f"{face}, {problem}: {found[1]} is not {found[0]}")
    seconds = [[], []]
    for _ in range(repeats):
        for run, count, taken in zip((theirs, ours), loops, seconds, strict=True):
            begin = time.perf_counter()
            for _ in range(count):
                run(*arguments)
            taken.append((time.perf_counter() - begin) / count)
    their, our = (1e3 * float(np.median(taken)) for taken in seconds)
    return [face, problem, f"{their:.3g}", f"{our:.3g}", f"{their / our:.1f}"]


def flow_value(found):
    return found.flow_value


def first(found):
    return found[0]


def scipy_rows(repeats, quick):
    rng = np.random.default_rng(1)
    shapes = ((12, 15), (20, 20), (60, 60), (100, 8), (900, 10), (10, 900), (200, 200), (1000, 1000), (2000, 2000))
    for n, m in shapes[:7] if quick else shapes:
        cost = rng.random((n, m))
        functions = scipy.optimize.linear_sum_assignment, assign.linear_sum_assignment
        yield compared(
            "SciPy linear_sum_assignment", f"{n} x {m} floats", *functions, (cost,), repeats,
            lambda pairs, cost=cost: cost[pairs].sum(),
        )  # fmt: skip
    for n in (500,) if quick else (1000, 10_000):
        graph = _sparse(n, 10, rng)
        functions = csgraph.min_weight_full_bipartite_matching, assign.min_weight_full_bipartite_matching
        yield compared(
            "SciPy min_weight_full_bipartite_matching", f"{n} rows, {graph.nnz} edges", *functions, (graph,), repeats,
            lambda pairs, graph=graph: graph[pairs].sum(),
        )  # fmt: skip
        thin = scipy.sparse.random_array((n * 10, n * 10), density=0.3 / n, rng=rng, format="csr")
        functions = csgraph.maximum_bipartite_matching, matching.maximum_bipartite_matching
        yield compared(
            "SciPy maximum_bipartite_matching", f"{10 * n} rows, {thin.nnz} edges", *functions, (thin,), repeats,
            lambda partner: np.count_nonzero(partner >= 0),
        )  # fmt: skip
        flow = scipy.sparse.csr_array(_sparse(n, 10, rng).astype(np.int32)), 0, n - 1
        problem = f"{n} nodes, {flow[0].nnz} edges, one source"
        yield compared("SciPy maximum_flow", problem, csgraph.maximum_flow, maximum_flow, flow, repeats, flow_value)
    grid = _terminal_grid(32 if quick else 128, rng)
    pixels = grid.shape[0] - 2
    yield compared(
        "SciPy maximum_flow", f"grid of {pixels} pixels with terminals", csgraph.maximum_flow, maximum_flow,
        (grid, pixels, pixels + 1), min(repeats, FEW), flow_value,
    )  # fmt: skip


def _sparse(n, degree, rng):
    """A sparse matrix with a full matching."""
    row, col = np.repeat(np.arange(n), degree), rng.integers(0, n, n * degree)
    row, col = np.concatenate((row, np.arange(n))), np.concatenate((col, rng.permutation(n)))
    graph = scipy.sparse.coo_array((rng.integers(1, 10_000, len(row)), (row, col)), shape=(n, n)).tocsr()
    graph.sum_duplicates()
    return graph


def _terminal_grid(side, rng):
    one, two = grid_edges(side, side)
    pixels, source, sink = np.arange(side * side), side * side, side * side + 1
    tail = np.concatenate([one, two, np.full(side * side, source), pixels])
    head = np.concatenate([two, one, pixels, np.full(side * side, sink)])
    capacity = rng.integers(1, 60, len(tail)).astype(np.int32)
    return scipy.sparse.csr_array((capacity, (tail, head)), shape=(sink + 1, sink + 1))


def lap_rows(repeats, quick):
    import lap

    rng = np.random.default_rng(2)
    cases = [((12, 15), 0.5), ((60, 50), 0.3), ((300, 200), 0.02), ((1000, 1000), np.inf), ((1500, 1000), 0.01)]
    for shape, limit in cases[: 3 if quick else None]:
        arguments = rng.random(shape), True, limit
        problem = f"{shape[0]} x {shape[1]}" + (f", cost_limit {limit}" if limit < np.inf else "")
        yield compared("lapx lapjv", problem, lap.lapjv, our_lap.lapjv, arguments, repeats, first)
    matrix = _sparse(200 if quick else 2000, 10, rng)
    arguments = matrix.shape[0], matrix.data.astype(float), matrix.indptr, matrix.indices
    problem = f"{matrix.shape[0]} rows, {matrix.nnz} pairs"
    yield compared("lapx lapmod", problem, lap.lapmod, our_lap.lapmod, arguments, repeats, first)
    batches = (partial(module.lapjvx_batch, n_threads=1) for module in (lap, our_lap))
    yield compared("lapx lapjvx_batch", "200 of 40 x 40", *batches, (rng.random((200, 40, 40)),), repeats, first)


def maxflow_rows(repeats, quick):
    import maxflow

    import gridcut.compat.maxflow as ours

    rng = np.random.default_rng(3)
    side = 64 if quick else 512
    noisy = np.clip(
        255 * (np.hypot(*(np.mgrid[:side, :side] - side / 2)) < side / 3) + rng.normal(0, 90, (side, side)), 0, 255
    )
    noisy = noisy.astype(int)
    weights = rng.integers(0, 100, (side, side))
    n = 2000 if quick else 100_000
    ends, capacity, terminal = rng.integers(0, n, (2, 4 * n)), rng.integers(1, 50, 4 * n), rng.integers(0, 100, n)
    structure = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1]])

    def restored(module):
        graph = module.Graph[int]()
        nodes = graph.add_grid_nodes(noisy.shape)
        graph.add_grid_edges(nodes, 50)
        graph.add_grid_tedges(nodes, noisy, 255 - noisy)
        return graph.maxflow(), graph.get_grid_segments(nodes)

    def weighted(module):
        graph = module.Graph[float]()
        nodes = graph.add_grid_nodes(noisy.shape)
        graph.add_grid_edges(nodes, weights, structure=structure, symmetric=True)
        graph.add_grid_tedges(nodes, noisy, 255 - noisy)
        return graph.maxflow(), graph.get_grid_segments(nodes)

    def any_graph(module):
        graph = module.Graph[int]()
        nodes = graph.add_nodes(n)
        graph.add_edges(*ends, capacity, capacity)
        graph.add_grid_tedges(nodes, terminal, 100 - terminal)
        return graph.maxflow(), graph.get_grid_segments(nodes)

    names = {
        restored: f"restoration, {side}², one weight",
        weighted: f"8 neighbours, {side}², weights as floats",
        any_graph: f"any graph, {n} nodes, {4 * n} edges",
    }
    for run, problem in names.items():
        functions = partial(run, maxflow), partial(run, ours)
        yield compared("PyMaxflow", problem, *functions, (), repeats, lambda found: np.append(found[1], found[0]))
    arguments = rng.random((side // 4, side // 4, 6)), 0.3 * (1 - np.eye(6))
    functions = maxflow.aexpansion_grid, ours.aexpansion_grid
    yield compared("PyMaxflow aexpansion_grid", f"6 labels, {side // 4}²", *functions, arguments, repeats)


def networkx_rows(repeats, quick):
    import networkx as nx

    if "cutmatch" not in nx.config.backends:
        raise ImportError("networkx finds no backend 'cutmatch': install this distribution")
    nx.config.warnings_to_ignore.add("cache")
    rng = np.random.default_rng(4)
    for n, edges in ((300, 1000),) if quick else ((500, 1000), (5000, 50_000)):
        graph = nx.Graph()
        graph.add_nodes_from(range(2 * n))
        ends = np.stack((rng.integers(0, n, edges), rng.integers(n, 2 * n, edges)), axis=1).tolist()
        graph.add_edges_from(ends)
        directed = nx.gnm_random_graph(2 * n, edges, seed=1, directed=True)
        nx.set_edge_attributes(directed, {e: int(rng.integers(1, 50)) for e in directed.edges}, "capacity")
        weighted = graph.copy()
        weighted.add_edges_from((i, n + i) for i in range(n))
        nx.set_edge_attributes(weighted, {e: int(rng.integers(1, 999)) for e in weighted.edges}, "weight")
        calls = {
            "maximum_matching": (nx.bipartite.maximum_matching, graph, range(n)),
            "minimum_cut": (nx.minimum_cut, directed, 0, 2 * n - 1),
            "maximum_flow": (nx.maximum_flow, directed, 0, 2 * n - 1),
            "maximal_matching": (nx.maximal_matching, graph),
        }
        if n <= 500:  # networkx makes a dense matrix
            calls["minimum_weight_full_matching"] = (nx.bipartite.minimum_weight_full_matching, weighted, range(n))
        for name, (function, given, *rest) in calls.items():

            def converting(*arguments, function=function, given=given):
                given.__networkx_cache__.clear()
                return function(*arguments, backend="cutmatch")

            for when, ours in (("in", converting), ("before", partial(function, backend="cutmatch"))):
                problem = f"{2 * n} nodes, {given.number_of_edges()} edges, conversion {when}"
                theirs = partial(function, backend="networkx")
                yield compared(f"networkx {name}", problem, theirs, ours, (given, *rest), min(repeats, FEW))


FACES = {
    "scipy": scipy_rows,
    "lap": lap_rows,
    "maxflow": maxflow_rows,
    "networkx": networkx_rows,
}


def _parser():
    parser = command.parser("faces", __doc__, "faces-cpu")
    parser.add_argument("--faces", nargs="*", choices=list(FACES), default=list(FACES), help="which (default: all)")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="rounds (default: 5)")
    parser.add_argument("--quick", action="store_true", help="small problems")
    return parser
