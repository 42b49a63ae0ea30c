"""`python -m benchmarks faces`: the functions of compat/ against those of the libraries whose interface they have.

The same call on the same arguments, interleaved; least milliseconds of up to --rounds rounds.  A row appears only if
both results have equal totals, values or segments.

"conversion" says whether a graph of networkx is converted in each call, or was before.
"""

from functools import partial

import numpy as np
import scipy.optimize
import scipy.sparse
from scipy.sparse import csgraph

import assign
import matching
from assign.compat import lap as our_lap
from benchmarks import command
from benchmarks.assign_instances import random_arcs
from benchmarks.graph_instances import grid_edges
from benchmarks.table import markdown
from benchmarks.timing import least
from gridcut.compat.scipy import maximum_flow

COLUMNS = ("face", "problem", "theirs ms", "ours ms", "ratio")
PACKAGES = ["scipy", "lapx", "PyMaxflow", "networkx", "numba", "numpy"]
SHAPES = ((12, 15), (60, 60), (100, 8), (900, 10), (200, 200), (1000, 1000), (2000, 2000))


def main(argv):
    options = _parser().parse_args(argv)
    report = command.begin("Other libraries' functions", PACKAGES)
    rows = []
    for name in options.faces:
        try:
            rows += command.shown(row(*call, options.rounds) for call in FACES[name]())
        except ImportError as error:
            print(f"{name}: left out, {error}")
    return command.finish(report, markdown(COLUMNS, rows), options.save)


def row(face, problem, theirs, ours, value, rounds):
    """The row of two callables; `value` of a result must be equal for both."""
    if not np.allclose(value(theirs()), value(ours()), rtol=1e-9, atol=0):
        raise AssertionError(f"{face}, {problem}: other results")
    taken, _ = least({"theirs": theirs, "ours": ours}, rounds)
    shown = (f"{1e3 * taken[who]:.3g}" for who in ("theirs", "ours"))
    return [face, problem, *shown, f"{taken['theirs'] / taken['ours']:.1f}"]


def scipy_calls():
    rng = np.random.default_rng(1)
    for shape in SHAPES:
        cost = rng.random(shape)
        calls = (partial(of.linear_sum_assignment, cost) for of in (scipy.optimize, assign))
        yield "SciPy linear_sum_assignment", f"{shape[0]} x {shape[1]} floats", *calls, lambda p, c=cost: c[p].sum()
    for n in (1000, 10_000):
        graph = random_arcs(10_000)(n, rng)
        problem = f"{n} rows, {graph.nnz} edges"
        calls = (partial(of.min_weight_full_bipartite_matching, graph) for of in (csgraph, assign))
        yield "SciPy min_weight_full_bipartite_matching", problem, *calls, lambda p, g=graph: g[p].sum()
        thin = scipy.sparse.random_array((n * 10, n * 10), density=0.3 / n, rng=rng, format="csr")
        calls = (partial(of.maximum_bipartite_matching, thin) for of in (csgraph, matching))
        yield "SciPy maximum_bipartite_matching", f"{10 * n} rows, {thin.nnz} edges", *calls, lambda p: (p >= 0).sum()
        calls = (partial(of, graph, 0, n - 1) for of in (csgraph.maximum_flow, maximum_flow))
        yield "SciPy maximum_flow", f"{problem}, one source", *calls, lambda found: found.flow_value
    side = 128
    one, two = grid_edges(side, side)
    pixels = np.arange(side * side)
    source, sink = np.full_like(pixels, side * side), np.full_like(pixels, side * side + 1)
    tail, head = np.concatenate([one, two, source, pixels]), np.concatenate([two, one, pixels, sink])
    grid = scipy.sparse.csr_array((rng.integers(1, 60, len(tail)).astype(np.int32), (tail, head)))
    grid.resize(sink[0] + 1, sink[0] + 1)
    calls = (partial(of, grid, source[0], sink[0]) for of in (csgraph.maximum_flow, maximum_flow))
    yield "SciPy maximum_flow", f"grid of {side}² pixels with terminals", *calls, lambda found: found.flow_value


def lap_calls():
    import lap

    rng = np.random.default_rng(2)
    cases = [((12, 15), 0.5), ((60, 50), 0.3), ((300, 200), 0.02), ((1000, 1000), np.inf), ((1500, 1000), 0.01)]
    for shape, limit in cases:
        cost = rng.random(shape)
        calls = (partial(of.lapjv, cost, True, limit) for of in (lap, our_lap))
        yield "lapx lapjv", f"{shape[0]} x {shape[1]}, cost_limit {limit}", *calls, lambda found: found[0]
    matrix = random_arcs(10_000)(2000, rng)
    arguments = matrix.shape[0], matrix.data.astype(float), matrix.indptr, matrix.indices
    calls = (partial(of.lapmod, *arguments) for of in (lap, our_lap))
    yield "lapx lapmod", f"{matrix.shape[0]} rows, {matrix.nnz} pairs", *calls, lambda found: found[0]


def maxflow_calls():
    import maxflow

    import gridcut.compat.maxflow as ours

    rng = np.random.default_rng(3)
    side, n = 512, 100_000
    disc = np.hypot(*(np.mgrid[:side, :side] - side / 2)) < side / 3
    noisy = np.clip(255 * disc + rng.normal(0, 90, (side, side)), 0, 255).astype(int)
    weights, structure = rng.integers(0, 100, (side, side)), np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1]])
    ends, capacity, terminal = rng.integers(0, n, (2, 4 * n)), rng.integers(1, 50, 4 * n), rng.integers(0, 100, n)

    def grid(module, kind, *edges, **how):
        graph = module.Graph[kind]()
        nodes = graph.add_grid_nodes(noisy.shape)
        graph.add_grid_edges(nodes, *edges, **how)
        graph.add_grid_tedges(nodes, noisy, 255 - noisy)
        return np.append(graph.maxflow(), graph.get_grid_segments(nodes))

    def any_graph(module):
        graph = module.Graph[int]()
        nodes = graph.add_nodes(n)
        graph.add_edges(*ends, capacity, capacity)
        graph.add_grid_tedges(nodes, terminal, 100 - terminal)
        return np.append(graph.maxflow(), graph.get_grid_segments(nodes))

    problems = {
        f"restoration, {side}², one weight": lambda module: grid(module, int, 50),
        f"8 neighbours, {side}², weights as floats": lambda module: grid(
            module, float, weights, structure=structure, symmetric=True
        ),
        f"any graph, {n} nodes, {4 * n} edges": any_graph,
    }
    for problem, run in problems.items():
        yield "PyMaxflow", problem, partial(run, maxflow), partial(run, ours), np.asarray
    arguments = rng.random((side // 4, side // 4, 6)), 0.3 * (1 - np.eye(6))
    calls = (partial(of.aexpansion_grid, *arguments) for of in (maxflow, ours))
    yield "PyMaxflow aexpansion_grid", f"6 labels, {side // 4}²", *calls, lambda labels: 0  # ties


def networkx_calls():
    import networkx as nx

    if "cutmatch" not in nx.config.backends:
        raise ImportError("networkx finds no backend 'cutmatch': install this distribution")
    nx.config.warnings_to_ignore.add("cache")
    rng = np.random.default_rng(4)
    for n, edges in ((500, 1000), (5000, 50_000)):
        graph = nx.Graph()
        graph.add_nodes_from(range(2 * n))
        graph.add_edges_from(np.stack([rng.integers(0, n, edges), rng.integers(n, 2 * n, edges)], 1).tolist())
        directed = nx.gnm_random_graph(2 * n, edges, seed=1, directed=True)
        nx.set_edge_attributes(directed, {e: int(rng.integers(1, 50)) for e in directed.edges}, "capacity")
        calls = {
            "maximum_matching": (nx.bipartite.maximum_matching, len, graph, range(n)),
            "minimum_cut": (nx.minimum_cut, lambda found: found[0], directed, 0, 2 * n - 1),
            "maximum_flow": (nx.maximum_flow, lambda found: found[0], directed, 0, 2 * n - 1),
        }
        for name, (function, value, given, *rest) in calls.items():
            theirs, ours = (partial(function, given, *rest, backend=of) for of in ("networkx", "cutmatch"))

            def converting(given=given, ours=ours):
                given.__networkx_cache__.clear()
                return ours()

            problem = f"{2 * n} nodes, {given.number_of_edges()} edges, conversion"
            yield f"networkx {name}", f"{problem} in", theirs, converting, value
            yield f"networkx {name}", f"{problem} before", theirs, ours, value


FACES = {"scipy": scipy_calls, "lap": lap_calls, "maxflow": maxflow_calls, "networkx": networkx_calls}


def _parser():
    parser = command.parser("faces", __doc__, "faces-cpu")
    parser.add_argument("--faces", nargs="*", choices=list(FACES), default=list(FACES), help="which (default: all)")
    parser.add_argument("--rounds", type=int, default=100, metavar="N", help="at most this many (default: 100)")
    return parser
