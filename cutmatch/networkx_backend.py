"""The backend "cutmatch" of networkx: matchings, full matchings, flows and cuts.

    networkx.bipartite.maximum_matching(graph, backend="cutmatch")
    networkx.config.backend_priority = ["cutmatch"]       # or NETWORKX_BACKEND_PRIORITY=cutmatch: wherever it is faster

networkx calls `convert_from_nx` on the graph, keeps the result in the graph's cache until the graph changes, and passes
it to the function of the same name as its own.  Arguments, results and exceptions are those of networkx.  Reading a
dictionary per edge takes most of the time, so the adjacency lists are read in one pass, without a matrix.

networkx may load this module in a project with packages of the same names as ours.  Therefore it imports no `apps`, and
others only after a check: a call with `backend="cutmatch"` raises ImportError if a project's package hides one of ours.
If the backend was to be chosen automatically, networkx's own function runs.

`should_run` says from how many edges the backend is faster including this conversion; benchmarks/faces.py measures it.
"""

import time
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np

from cutmatch.networkx_info import FUNCTIONS
from cutmatch.own_packages import check_own

MIN_EDGES = 500  # for which conversion and solution are faster than networkx
FLOWS = {name for name in FUNCTIONS if name.startswith(("maximum_flow", "minimum_cut"))}
INF = float("inf")
INT64_MAX = 2**63 - 1
MAX_SUM = {"i": 2.0**60, "f": 1e300}  # of finite capacities, for which a larger one stands for infinity
NEEDS = {
    "hopcroft_karp_matching": "matching",
    "minimum_weight_full_matching": "assign",
    "network_simplex": "assign",
}
PARAMETERS = ("flowG", "_s", "_t", "capacity", "flow_func")  # of the flows


class ConvertedGraph:
    """A graph of networkx as arrays; node i is `nodes[i]`, its neighbours are indices[indptr[i] : indptr[i + 1]].

    lists    the `AdjacencyLists` that hold them
    read     what has been read of the edge attributes, by name
    """

    __networkx_backend__ = "cutmatch"
    __networkx_cache__ = None

    def __init__(self, graph):
        _own("gridcut")
        from gridcut.device.networkx_graph import AdjacencyLists

        self.graph = graph
        self.lists = lists = AdjacencyLists(graph)
        self.nodes, self.indptr, self.indices = lists.nodes, lists.indptr, lists.indices
        self.read: dict = {}

    @property
    def index(self) -> dict:
        """The index of each node."""
        return self.lists.index

    def is_directed(self) -> bool:
        return self.graph.is_directed()

    def is_multigraph(self) -> bool:
        return self.graph.is_multigraph()


def convert_from_nx(graph, **_) -> ConvertedGraph:
    """The graph as arrays, whatever attributes are to be preserved."""
    return ConvertedGraph(graph)


def convert_to_nx(result, **_):
    """Results are networkx's types already; a graph is returned as it was given."""
    return result.graph if isinstance(result, ConvertedGraph) else result


def can_run(name: str, args: tuple, kwargs: dict) -> bool | str:
    """Whether the backend supports these arguments, or the reason why not."""
    if name not in FUNCTIONS:
        return f"cutmatch has no {name}"
    graph = _graph_of(args, kwargs)
    if name in FLOWS:
        given = dict(zip(PARAMETERS, args, strict=False)) | kwargs
        return _refusal(**{key: value for key, value in given.items() if key not in PARAMETERS[:3]}) or True
    if name == "minimum_weight_full_matching" and graph is not None and graph.is_multigraph():
        return "parallel edges are not supported"
    return True


def _refusal(capacity: Any = None, flow_func=None, **others) -> str | None:
    """Why the flows cannot run with these arguments, or None if they can."""
    if flow_func is not None or others:
        return "flow_func and its parameters choose among networkx's own algorithms"
    if callable(capacity):
        return "capacity must be the name of an edge attribute; functions are left to networkx"
    return None


def should_run(name: str, args: tuple, kwargs: dict) -> bool | str:
    """Whether the backend is faster than networkx, or the reason why not."""
    if hidden := _hidden(NEEDS.get(name, "gridcut")):
        return hidden
    graph = _graph_of(args, kwargs)
    if graph is None or isinstance(graph, ConvertedGraph):
        return True
    entries = sum(map(len, getattr(graph, "_adj", graph.adj).values()))
    edges = entries if graph.is_directed() else entries // 2
    if edges < MIN_EDGES:
        return f"networkx is as fast for fewer than {MIN_EDGES} edges"
    return True


@cache
def _hidden(package: str) -> str:
    """How another project's package hides one of ours that is needed; empty if none does."""
    try:
        check_own(package, "networkx's backend 'cutmatch'")
    except ImportError as error:
        return str(error)
    return ""


def _own(package: str) -> Any:
    """Our package of this name, or ImportError."""
    if hidden := _hidden(package):
        raise ImportError(hidden, name=package)
    return import_module(package)


def _adjacency_of(graph: Any) -> Any:
    _own("gridcut")
    from gridcut.device.networkx_graph import adjacency_of

    return adjacency_of(graph)


def _graph_of(args, kwargs):
    return args[0] if args else kwargs.get("G", kwargs.get("flowG"))


def hopcroft_karp_matching(G: ConvertedGraph, top_nodes: Iterable | None = None) -> dict:
    """`networkx.bipartite.hopcroft_karp_matching` and `maximum_matching`."""
    matching = _own("matching")
    rows, cols = _sides(G, top_nodes)
    lists, _ = _row_lists(G, rows, cols)
    found = matching.maximum(lists, device="cpu").row_match
    matched = np.flatnonzero(found >= 0)
    return _partners(G, rows[matched], cols[found[matched]])


def minimum_weight_full_matching(G: ConvertedGraph, top_nodes: Iterable | None = None, weight: Any = "weight") -> dict:
    """`networkx.bipartite.minimum_weight_full_matching`."""
    assign = _own("assign")
    rows, cols = _sides(G, top_nodes)
    (indptr, indices, shape), kept = _row_lists(G, rows, cols)
    if weight is None:
        weights = np.ones(len(indices), np.int64)
    else:
        weights, infinite = (array[kept] for array in _numbers(G, weight, 1))
        if weights.dtype.kind == "f" and (np.isnan(weights).any() or (weights == -INF).any()):
            raise ValueError("matrix contains invalid numeric entries")
        if infinite.any():
            indptr = np.concatenate(([0], np.cumsum(~infinite)))[indptr]
            indices, weights = indices[~infinite], weights[~infinite]
    try:
        found = assign.solve((indptr, indices, weights, shape), device="cpu")
    except assign.InfeasibleError as error:
        raise ValueError("cost matrix is infeasible") from error
    except (TypeError, ValueError) as error:  # integers that are too large
        raise NotImplementedError(f"left to networkx: {error}") from error
    return _partners(G, rows[found.row], cols[found.col])


def maximum_flow_value(flowG: ConvertedGraph, _s, _t, capacity="capacity", flow_func=None, **others) -> Any:
    """`networkx.maximum_flow_value`."""
    return _cut(flowG, _s, _t, capacity, flow_func, others)[0].value


def minimum_cut_value(flowG: ConvertedGraph, _s, _t, capacity="capacity", flow_func=None, **others) -> Any:
    """`networkx.minimum_cut_value`."""
    return _cut(flowG, _s, _t, capacity, flow_func, others)[0].value


def minimum_cut(flowG: ConvertedGraph, _s, _t, capacity="capacity", flow_func=None, **others) -> tuple:
    """`networkx.minimum_cut`; the nodes that can still reach the sink are on its side, as in networkx."""
    cut, _ = _cut(flowG, _s, _t, capacity, flow_func, others)
    return cut.value, tuple({flowG.nodes[i] for i in side} for side in cut.partition())


def maximum_flow(flowG: ConvertedGraph, _s, _t, capacity="capacity", flow_func=None, **others) -> tuple:
    """`networkx.maximum_flow`."""
    from gridcut.graph.flow_between import flow_along_entries

    cut, problem = _cut(flowG, _s, _t, capacity, flow_func, others)
    lists = (flowG.indptr, flowG.indices, problem.capacity, (problem.nodes, problem.nodes))
    amounts = flow_along_entries(lists, cut, flowG.index[_s], flowG.index[_t]).tolist()
    names = [flowG.nodes[end] for end in flowG.indices.tolist()]
    starts = flowG.indptr.tolist()
    return cut.value, {
        node: dict(zip(names[begin:end], amounts[begin:end], strict=True))
        for node, begin, end in zip(flowG.nodes, starts[:-1], starts[1:], strict=True)
    }


def network_simplex(G: ConvertedGraph, demand="demand", capacity="capacity", weight="weight") -> tuple:
    """`networkx.network_simplex`."""
    import networkx

    assign = _own("assign")
    from gridcut.device.networkx_graph import AdjacencyLists, numbers_of

    if not G.nodes:
        raise networkx.NetworkXError("graph has no nodes")
    lists = AdjacencyLists(G.graph, parallel=True) if G.is_multigraph() else G.lists
    data = G.graph.nodes
    supply = [-data[node].get(demand, 0) for node in G.nodes]
    read = [numbers_of(values) for values in (supply, lists.attribute(weight, 0), lists.attribute(capacity, INF))]
    arrays = [numbers for numbers in read if numbers is not None and numbers[0].dtype == np.int64]
    if len(arrays) < len(read) or any(infinite.any() for _, infinite in arrays[:2]):
        raise NotImplementedError("demands, weights and capacities must be integers; others are left to networkx")
    (supplies, _), (cost, _), (limits, infinite) = arrays
    if supplies.sum():
        raise networkx.NetworkXUnfeasible("total node demand is not zero")
    if (limits < 0).any():
        raise networkx.NetworkXUnfeasible("an edge has negative capacity")
    limits = np.where(infinite, 2**62, limits)
    tail = np.repeat(np.arange(len(G.nodes)), np.diff(lists.indptr))
    try:
        found = assign.min_cost_flow(tail, lists.indices, limits, cost, supplies)
    except assign.InfeasibleFlowError as error:
        raise networkx.NetworkXUnfeasible("no flow satisfies all node demands") from error
    except assign.UnboundedFlowError as error:
        raise networkx.NetworkXUnbounded("negative cycle with infinite capacity found") from error
    except ValueError as error:
        raise NotImplementedError(f"left to networkx: {error}") from error
    amounts = iter(found.flow.tolist())
    ends = _adjacency_of(G.graph)
    if G.is_multigraph():
        flow = {x: {y: {key: next(amounts) for key in keys} for y, keys in ends[x].items()} for x in G.nodes}
    else:
        flow = {x: {y: next(amounts) for y in ends[x]} for x in G.nodes}
    return found.cost, flow


def _partners(G: ConvertedGraph, rows, cols) -> dict:
    left, right = [[G.nodes[i] for i in side.tolist()] for side in (rows, cols)]
    return dict(chain(zip(left, right, strict=True), zip(right, left, strict=True)))


def _sides(G: ConvertedGraph, top_nodes) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the nodes of both sides; networkx's exceptions."""
    import networkx

    from gridcut.device.two_colours import COLUMN, ROW, two_colours

    side = np.full(len(G.nodes), COLUMN, np.int8)
    if top_nodes is None and not G.is_directed():
        components, wrong = two_colours(G.indptr, G.indices, side)
        if components == 1 and wrong < 0:
            return np.flatnonzero(side == ROW), np.flatnonzero(side == COLUMN)
        side[:] = COLUMN
    if top_nodes is None:
        top_nodes, _ = networkx.bipartite.sets(G.graph)  # raises, or knows directed graphs
    side[[G.index[node] for node in top_nodes]] = ROW
    return np.flatnonzero(side == ROW), np.flatnonzero(side == COLUMN)


def _row_lists(G: ConvertedGraph, rows, cols) -> tuple[tuple, np.ndarray]:
    """The lists (indptr, indices, shape) of the rows, and which entries of the graph they are."""
    import networkx

    column = np.full(len(G.nodes), -1, np.int64)
    column[cols] = np.arange(len(cols))
    degrees = np.diff(G.indptr)
    kept = np.repeat(column < 0, degrees)
    indices = column[G.indices[kept]]
    if len(indices) and indices.min() < 0:
        raise networkx.NetworkXError("Graph is not bipartite: an edge joins two nodes of top_nodes.")
    indptr = np.concatenate(([0], np.cumsum(degrees[rows])))
    return (indptr, indices, (len(rows), len(cols))), kept


def _numbers(G: ConvertedGraph, name: Any, default) -> tuple[np.ndarray, np.ndarray]:
    """An edge attribute of each entry, and which are +inf, as `numbers_of` returns them."""
    from gridcut.device.networkx_graph import numbers_of

    if (name, default) not in G.read:
        values = G.lists.attribute(name, default)
        if len(values) != len(G.indices):
            raise RuntimeError("the graph was changed after its conversion; call graph.__networkx_cache__.clear()")
        G.read[name, default] = numbers_of(values)
    found = G.read[name, default]
    if found is None:
        raise NotImplementedError(f"the edge attribute {name!r} must hold real numbers; others are left to networkx")
    return found


def _capacities(G: ConvertedGraph, name: Any) -> tuple:
    """The capacities of `gridcut.graph_max_flow`, and that of infinite entries.

    That is more than twice the sum of all others, or all that int64 holds, which stands for no limit.  As in networkx,
    only edges of positive capacity exist.
    """
    if (name, "limit") not in G.read:
        values, infinite = _numbers(G, name, INF)
        limit = INT64_MAX
        values = np.where(values > 0, values, 0)
        values = np.minimum(values, limit).astype(np.int64) if values.dtype == object else values
        if float(values.max(initial=0)) * values.size < MAX_SUM[values.dtype.kind]:
            limit = 2 * values.sum().item() + 1
        elif values.dtype.kind == "f":
            raise NotImplementedError(f"the sum of the edge attribute {name!r} might overflow; left to networkx")
        values[infinite] = limit
        G.read[name, "limit"] = values, limit
    return G.read[name, "limit"]


def _cut(G: ConvertedGraph, s: Any, t: Any, name: Any, flow_func: Any, others: dict) -> tuple:
    """A minimum cut, and the problem that was solved."""
    import networkx

    from gridcut.graph import graph_flow
    from gridcut.graph.graph_flow import cut_of_graph
    from gridcut.graph.graph_problem import check_graph_problem

    start = time.perf_counter()
    refusal = _refusal(name, flow_func, **others)  # again, since networkx 3.2 takes any text of can_run for True
    if refusal is not None:
        raise NotImplementedError(refusal)
    if G.is_multigraph():
        raise networkx.NetworkXError("MultiGraph and MultiDiGraph not supported (yet).")
    for node in (s, t):
        if node not in G.index:
            raise networkx.NetworkXError(f"node {node!s} not in graph")
    if s == t:
        raise networkx.NetworkXError("source and sink are the same node")
    capacity, limit = _capacities(G, name)
    n = len(G.nodes)
    source, sink = np.zeros((2, n), capacity.dtype)
    source[G.index[s]] = sink[G.index[t]] = limit
    try:
        problem = check_graph_problem((G.indptr, G.indices, capacity, (n, n)), source, sink)
        cut = cut_of_graph(problem, *graph_flow.choose("cpu", "auto", problem), start)
    except ValueError as error:
        raise NotImplementedError(f"left to networkx: {error}") from error
    if cut.value > 0.75 * limit:  # the limit with an infinite path, else at most half of it
        raise networkx.NetworkXUnbounded("Infinite capacity path, flow unbounded above.")
    return cut, problem
