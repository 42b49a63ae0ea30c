"""Problems just below and just above each size at which another rule, representation or number of threads takes over.

Results are certified and compared with SciPy, networkx or PyMaxflow on both sides of every switch: an answer that is
wrong from some size on is found here, even if the tests of each part use smaller problems.  `SWITCHES` names the
constants, and the sizes follow from their present values.
"""

from importlib import import_module
from typing import NamedTuple

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csgraph
from scipy.spatial.distance import cdist

import assign
import gridcut
import matching
from gridcut.compat.scipy import maximum_flow
from gridcut.core.grid import make_layout
from tests.compat.test_flow_battery import FACES, FAMILIES, check_flow, flow_of, random_graph
from tests.gridcut.oracles import check_flow as check_grid_flow
from tests.gridcut.oracles import graph_cut as oracle

FOUR = ((0, 1), (1, 0))


# Cuts and flows of graphs


def sparse_graph(n):
    """Trees, chains and hubs, in every face."""
    for family in FAMILIES:
        graph, source, sink = random_graph(family, n, 7)
        expected = csgraph.maximum_flow(graph, source, sink).flow_value
        for face in FACES.values():
            value, flow = face(graph, source, sink)
            assert value == expected
            check_flow(flow, graph, source, sink, value)


def leaves_of_a_ring(leaves, n=1200):
    """A ring whose nodes have four neighbours and more, of which some are leaves."""
    rng = np.random.default_rng(leaves)
    ring = np.arange(n - leaves)
    tails = np.concatenate([ring, ring, rng.integers(0, n - leaves, leaves)])
    heads = np.concatenate([np.roll(ring, 1), np.roll(ring, 2), np.arange(n - leaves, n)])
    graph = scipy.sparse.csr_array((rng.integers(1, 9, len(tails)), (tails, heads)), shape=(n, n))
    graph = (graph + graph.T).astype(np.int32).tocsr()
    source, sink = rng.choice(n, 2, replace=False).tolist()
    found = maximum_flow(graph, source, sink)
    assert found.flow_value == csgraph.maximum_flow(graph, source, sink).flow_value
    check_flow(found.flow.astype(np.int64), graph, source, sink, found.flow_value)


def capacity_sum(largest):
    """One node whose capacities sum to `largest`, and a pixel."""
    part = largest // 4
    rest = largest - 3 * part
    graph = scipy.sparse.csr_array(np.array([[0, part], [part, 0]], np.int64))
    cut = gridcut.graph_max_flow(graph, [rest, 0], [part, rest])
    assert flow_of(cut, graph)[0] == part + min(part, rest - part)
    cut = gridcut.max_flow(np.array([[rest, 0]]), np.array([[part, rest]]), {(0, 1): part})
    cut.check()
    check_grid_flow(cut, np.array([[rest, 0]]), np.array([[part, rest]]), {(0, 1): np.array(part)})
    assert cut.value == part + min(part, rest - part)


def changed_nodes(changed, n=1000):
    """A GraphSolver after changes at some nodes."""
    rng = np.random.default_rng(changed)
    graph, *_ = random_graph("nearly_tree", n, 3)
    graph = graph.astype(np.int64)
    source, sink = rng.integers(0, 50, (2, n)) * (rng.random((2, n)) < 0.3)
    solver = gridcut.GraphSolver(graph, source, sink)
    solver.solve()
    nodes = rng.choice(n, changed, replace=False)
    source[nodes], sink[nodes] = sink[nodes] + 1, source[nodes]
    solver.update(source=source, sink=sink)
    cut = solver.solve()
    cut.check()
    value, labels = oracle(graph, source, sink)
    assert cut.value == value
    np.testing.assert_array_equal(cut.labels, labels)
    net = cut.flow().sum(axis=1)
    assert ((net <= source) & (-net <= sink)).all()


# Cuts of grids


def grid_problem(shape, offsets=FOUR, seed=0):
    rng = np.random.default_rng([seed, *shape])
    source, sink = rng.integers(0, 60, (2, *shape)) * (rng.random((2, *shape)) < 0.4)
    return source, sink, {offset: rng.integers(0, 20, shape) for offset in offsets}


def value_by_pymaxflow(source, sink, edges):
    pymaxflow = pytest.importorskip("maxflow")
    graph = pymaxflow.GraphInt()
    nodes = graph.add_grid_nodes(source.shape)
    for (y, x), capacity in edges.items():
        structure = np.zeros((2 * abs(y) + 1, 2 * abs(x) + 1), np.int64)
        structure[abs(y) + y, abs(x) + x] = 1
        graph.add_grid_edges(nodes, capacity, structure, symmetric=True)
    graph.add_grid_tedges(nodes, source, sink)
    return graph.maxflow()


def grid(shape, offsets=FOUR):
    source, sink, edges = grid_problem(shape, offsets)
    cut = gridcut.max_flow(source, sink, edges, device="cpu")
    cut.check()
    check_grid_flow(cut, source, sink, edges)
    assert cut.value == value_by_pymaxflow(source, sink, edges)


def grid_of_pixels(pixels):
    grid((pixels // 128, 128))


def grid_of_cells(cells):
    """Cells are the pixels with those around them."""
    height = next(h for h in range(cells // 512, 0, -1) if make_layout((h, 512), FOUR).size <= cells)
    grid((height, 512))


def grid_of_offsets(count):
    offsets = [(y, x) for y in range(8) for x in range(-7, 8) if (y, x) > (0, 0)][:count]
    assert len(offsets) == count
    grid((11, 12), offsets)


def changed_pixels(share):
    """A Solver after changes of some terminals and edges."""
    source, sink, edges = grid_problem((60, 61))
    rng = np.random.default_rng(0)
    for kind in ("terminals", "edges", "both"):
        solver = gridcut.Solver(source, sink, edges)
        solver.solve()
        new, changed = source.copy(), {offset: capacity.copy() for offset, capacity in edges.items()}
        chosen = rng.permutation(source.size) < share * source.size
        if kind != "edges":
            new.ravel()[chosen] = sink.ravel()[chosen] + 1
            solver.update(source=new)
        if kind != "terminals":
            for capacity in changed.values():
                capacity.ravel()[chosen] = 19 - capacity.ravel()[chosen]
            solver.update(edges=changed)
        cut = solver.solve()
        cut.check()
        check_grid_flow(cut, new, sink, changed)
        fresh = gridcut.max_flow(new, sink, changed)
        assert cut.value == value_by_pymaxflow(new, sink, changed)
        np.testing.assert_array_equal(cut.labels, fresh.labels)


# Assignments


def matrices(n, m):
    rng = np.random.default_rng([n, m])
    x, y = rng.random(n), rng.random(m)
    yield rng.random((n, m))
    yield rng.integers(0, 50, (n, m))
    yield abs(x[:, None] - y)
    yield np.where(rng.random((n, m)) < 0.5, 1.0, rng.random((n, m)))


def check_assignment(found, cost):
    found.check()
    row, col = linear_sum_assignment(cost)
    assert found.cost == pytest.approx(cost[row, col].sum(), rel=1e-9)
    assert cost[found.row, found.col].sum() == pytest.approx(found.cost, rel=1e-12)
    assert len(set(found.row.tolist())) == len(set(found.col.tolist())) == min(cost.shape)


def matrix(n, m=None, **how):
    for cost in matrices(n, m or n):
        check_assignment(assign.solve(cost, device="cpu", **how), cost)


def wide_matrix(costs):
    matrix(300, costs // 300)
    for cost in matrices(costs // 300, 300):
        check_assignment(assign.solve(cost, device="cpu"), cost)


def scanned_matrix(scans):
    """SciPy's face, whose pairs have no prices."""
    n = int(np.cbrt(scans) + 1e-9)
    for cost in matrices(n, n):
        row, col = assign.linear_sum_assignment(cost)
        best = cost[linear_sum_assignment(cost)].sum()
        assert cost[row, col].sum() == pytest.approx(best, rel=1e-12)
        assert row.tolist() == list(range(n)) == sorted(col.tolist())


def common_costs(share, n=200):
    rng = np.random.default_rng(n)
    cost = np.where(rng.random((n, n)) < share, 1.0, rng.random((n, n)))
    for given in (cost, np.rint(99 * cost).astype(np.int64)):
        check_assignment(assign.solve(given, device="cpu"), given)


def shortest_paths(n):
    matrix(n, method="shortest_paths")


def allowed_pairs(share, n=90):
    rng = np.random.default_rng(0)
    cost = rng.random((n, n))
    forbidden = rng.permutation(n * n).reshape(n, n) >= share * n * n
    np.fill_diagonal(forbidden, False)
    cost[forbidden] = np.inf
    check_assignment(assign.solve(cost, device="cpu"), cost)
    ranked = assign.k_best(cost, 5)
    ranked.check()
    assert ranked.cost[0] == pytest.approx(cost[linear_sum_assignment(cost)].sum(), rel=1e-12)
    assert (np.diff(ranked.cost) >= 0).all()


def long_rows(columns):
    matrix(200, columns)


def ranking(costs, n=256):
    """The best assignments, of which as many as have these costs together are certified at a time."""
    cost = np.random.default_rng(0).integers(0, 10**6, (n, n))
    found = assign.k_best(cost, costs // cost.size)
    found.check()
    assert found.cost[0] == cost[linear_sum_assignment(cost)].sum()
    assert (np.diff(found.cost) >= 0).all()
    assert len({tuple(one) for one in found.col_of_row.tolist()}) == costs // cost.size
    for total, col in zip(found.cost.tolist(), found.col_of_row, strict=True):
        assert sorted(col.tolist()) == list(range(n))
        assert cost[np.arange(n), col].sum() == total


def batch_of_costs(costs):
    rng = np.random.default_rng(costs)
    items = rng.random((max(1, costs // 400), 20, 20))
    found = assign.solve_batch(items, device="cpu", threads=2)
    found.check()
    for i, cost in enumerate(items):
        assert found.cost[i] == pytest.approx(cost[linear_sum_assignment(cost)].sum(), rel=1e-9)


def points(costs):
    """Sets of points, and again from the prices of those that have moved."""
    n = int(np.sqrt(costs))
    rng = np.random.default_rng(n)
    x, y = rng.random((2, n, 2))
    first = assign.solve_points(x, y, device="cpu")
    check_assignment(first, cdist(x, y))
    x += rng.normal(0, 0.01, x.shape)
    check_assignment(assign.solve_points(x, y, start=first, device="cpu"), cdist(x, y))


def repeated_points(costs):
    """The matrix of points that repeat ten times, or rounds."""
    n = int(np.sqrt(costs))
    rng = np.random.default_rng(n)
    x, y = rng.random((2, n // 10, 2)).repeat(10, axis=1)
    check_assignment(assign.solve_points(x, y, device="cpu"), cdist(x, y))


def flow_of_minimum_cost(arcs):
    """The certificate, the cost by networkx, and the balance of every node."""
    rng = np.random.default_rng(arcs)
    n = max(3, arcs // 6)
    ends = np.array([(u, v) for u in range(n) for v in range(n) if u != v])
    tail, head = rng.permutation(ends)[:arcs].T
    capacity, cost = rng.integers(1, 9, arcs), rng.integers(-3, 9, arcs)
    sent = rng.integers(0, capacity + 1)
    supply = np.bincount(tail, sent, n).astype(int) - np.bincount(head, sent, n).astype(int)
    found = assign.min_cost_flow(tail, head, capacity, cost, supply)
    found.check()
    assert ((found.flow >= 0) & (found.flow <= capacity)).all()
    assert (np.bincount(tail, found.flow, n) - np.bincount(head, found.flow, n) == supply).all()
    network = nx.DiGraph()
    network.add_nodes_from((u, {"demand": -int(amount)}) for u, amount in enumerate(supply))
    network.add_edges_from(
        (u, v, {"capacity": c, "weight": w})
        for u, v, c, w in zip(tail.tolist(), head.tolist(), capacity.tolist(), cost.tolist(), strict=True)
    )
    assert found.cost == nx.min_cost_flow_cost(network)


# Matchings


def check_matching(found, graph):
    found.check()
    expected = csgraph.maximum_bipartite_matching(graph, perm_type="column")
    assert found.cardinality == (expected >= 0).sum()


def bipartite(rows, edges=None, method="auto"):
    rng = np.random.default_rng(rows)
    ends = rng.integers(0, rows, (2, edges or 2 * rows))
    graph = scipy.sparse.csr_array((np.ones(ends.shape[1], np.int8), ends), shape=(rows, rows))
    for threads in (1, 2):
        check_matching(matching.maximum(graph, method=method, threads=threads, device="cpu"), graph)
    blocks = matching.dulmage_mendelsohn(graph)
    blocks.check()
    assert blocks.structural_rank == scipy.sparse.csgraph.structural_rank(graph)


def tree_grafting(rows):
    bipartite(rows, method="ms_bfs_graft")


def parallel_hopcroft_karp(rows):
    bipartite(rows, method="p_hk")


def disjoint_searches(rows):
    bipartite(rows, method="p_dbfs")


def bipartite_edges(edges):
    bipartite(edges // 4, edges + edges // 1000)


def dominant_edges(vertices, edges=None):
    """The greedy matching is unique if no two weights are equal: SciPy's order, and a loop over all edges."""
    rng = np.random.default_rng(vertices)
    ends = np.unique(np.sort(rng.integers(0, vertices, (edges or 3 * vertices, 2)), axis=1), axis=0)
    tail, head = ends[ends[:, 0] < ends[:, 1]].T
    weight = rng.permutation(len(tail)) + 1.0
    graph = scipy.sparse.csr_array(
        (np.tile(weight, 2), (np.append(tail, head), np.append(head, tail))), shape=(vertices, vertices)
    )
    partner = [-1] * vertices
    total = 0
    for edge in np.argsort(-weight).tolist():
        u, v = int(tail[edge]), int(head[edge])
        if partner[u] < 0 and partner[v] < 0:
            partner[u], partner[v] = v, u
            total += weight[edge]
    for threads in (1, 2):
        found = matching.greedy(graph, method="locally_dominant", threads=threads, device="cpu")
        found.check()
        assert found.weight == total
        assert found.partner.tolist() == partner
    coarse = matching.coarsen(graph)
    coarse.check()
    belongs = scipy.sparse.csr_array((np.ones(vertices), (np.arange(vertices), coarse.labels)))
    merged = (belongs.T @ graph @ belongs).tocsr()
    merged.setdiag(0)
    assert abs(merged - coarse.graph).max() == 0


def dominant_entries(entries):
    dominant_edges(entries // 6, entries // 2)


class Switch(NamedTuple):
    """A constant, the test of problems of a size, and the sizes below and above, as functions of its value."""

    module: str
    name: str
    check: object
    sides: object
    slow: bool = False


def at(value):
    return value, value + 1


def before(value):
    return value - 1, value


def around(part):
    return lambda value: (value * (1 - part), value * (1 + part))


def of_nodes(n, less=0):
    """The numbers of nodes that are a share of n, or `less`, and one more."""
    return lambda share: (round(share * n) - less, round(share * n) - less + 1)


SWITCHES = [
    Switch("gridcut.graph.graph_reduction", "MIN_NODES", sparse_graph, before),
    Switch("gridcut.graph.graph_reduction", "MIN_NARROW_SHARE", leaves_of_a_ring, of_nodes(1200, 1)),
    Switch("gridcut.graph.graph_search", "MAX_CHANGED_SHARE", changed_nodes, of_nodes(1000)),
    Switch("gridcut.device.arguments", "INT32_MAX", capacity_sum, at),
    Switch("gridcut.ibfs.small_grid", "MAX_PIXELS", grid_of_pixels, lambda v: (v, v + 128)),
    Switch("gridcut.ibfs.small_grid", "MAX_OFFSETS", grid_of_offsets, at, slow=True),
    Switch("gridcut.methods", "IBFS_MAX_OFFSETS", grid_of_offsets, at, slow=True),
    Switch("gridcut.ibfs.ibfs", "STRIP_CELLS", grid_of_cells, lambda v: (v, v + 1100)),
    Switch("gridcut.ibfs.ibfs", "MAX_CHANGED_SHARE", changed_pixels, around(0.1)),
    Switch("gridcut.solver_states.host_state", "MAX_WARM_SHARE", changed_pixels, around(0.02)),
    Switch("gridcut.core.load", "SHARED_CELLS", grid_of_cells, lambda v: (v - 1100, v + 1100), slow=True),
    Switch("assign.dense.jonker_volgenant", "MAX_COSTS", wide_matrix, lambda v: (v, v + 300)),
    Switch("assign.dense.jonker_volgenant", "BYTES", matrix, lambda v: [int(np.sqrt(s * v / 13)) for s in (0.1, 0.2)]),
    Switch("assign.dense.jonker_volgenant", "MIN_ROWS", matrix, before),
    Switch("assign.direct", "MIN_LIST_ROWS", matrix, before),
    Switch("assign.dense.jonker_volgenant", "MIN_COMMON_SHARE", common_costs, around(0.02)),
    Switch("assign.compat.small_pairs", "MAX_SCANS", scanned_matrix, lambda v: (v, (int(np.cbrt(v)) + 1) ** 3)),
    Switch("assign.dense.dense", "COARSE_MIN_ROWS", shortest_paths, before),
    Switch("assign.dense.cheap_columns", "MAX_SHORT_ROW", long_rows, at),
    Switch("assign.ranking_certificate", "MAX_COSTS", ranking, lambda v: (v, v + 256**2), slow=True),
    Switch("assign.core.problem", "MAX_SPARSE_SHARE", allowed_pairs, around(0.06)),
    Switch("assign.batch.batch", "MIN_COSTS_PER_THREAD", batch_of_costs, lambda v: (2 * v - 400, 2 * v)),
    Switch("assign.points", "MATRIX_COSTS", repeated_points, lambda v: (v, v + 30_000)),
    Switch("assign.points", "ANY_START_COSTS", points, lambda v: (v, (int(np.sqrt(v)) + 1) ** 2)),
    Switch("assign.core.certificate_points", "MIN_COSTS", points, lambda v: ((int(np.sqrt(v)) - 1) ** 2, v)),
    Switch("assign.flow.network_simplex", "MIN_BLOCK", flow_of_minimum_cost, lambda v: (v * v - 1, (v + 1) ** 2)),
    Switch("matching.papers.ms_bfs_graft", "TEAM_ROWS", tree_grafting, before),
    Switch("matching.papers.p_hk", "PARALLEL_MIN_ROWS", parallel_hopcroft_karp, before),
    Switch("matching.papers.disjoint", "PARALLEL_MIN_ROWS", disjoint_searches, before),
    Switch("matching.initial.karp_sipser", "ALONE_ROWS", bipartite, at),
    Switch(
        "matching.initial.karp_sipser", "PARALLEL_MIN_EDGES", bipartite_edges, lambda v: (v - v // 50, v), slow=True
    ),
    Switch("matching.general.general_graph", "PARALLEL_MIN_ENTRIES", dominant_entries, around(0.05)),
    Switch("matching.general.locally_dominant", "PARALLEL_MIN_VERTICES", dominant_edges, before),
    Switch("matching.general.parallel", "PARALLEL_MIN_VERTICES", dominant_edges, before),
]


@pytest.mark.parametrize("above", [False, True], ids=["below", "above"])
@pytest.mark.parametrize(
    "switch",
    [
        pytest.param(row, id=f"{row.module.rsplit('.', 1)[1]}-{row.name}", marks=[pytest.mark.slow] * row.slow)
        for row in SWITCHES
    ],
)
def test_both_sides(switch, above):
    size = switch.sides(getattr(import_module(switch.module), switch.name))[above]
    switch.check(int(size) if size >= 2 else size)
