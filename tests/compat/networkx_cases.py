"""The backend of networkx: networkx's own tests through its dispatch, values, caching, and when it runs.

test_networkx_backend.py runs this file in a process whose networkx has found the backend by its entry points.  Tests
count what the backend ran, because networkx runs its own function silently if the backend raises NotImplementedError.
"""

import random
from copy import deepcopy
from decimal import Decimal

import networkx as nx
import numpy as np
import pytest

from cutmatch import networkx_backend as backend
from cutmatch.networkx_info import FUNCTIONS
from tests.compat.borrowed_tests import borrowed

BIPARTITE = borrowed("networkx.algorithms.bipartite.tests.test_matching")
FLOW = borrowed("networkx.algorithms.flow.tests.test_maxflow")
COST_FLOW = borrowed("networkx.algorithms.flow.tests.test_mincost")


VERSION = tuple(map(int, nx.__version__.split(".")[:2]))
FLOWS = [name for name in FUNCTIONS if name.startswith(("maximum_flow", "minimum_cut"))]


@pytest.fixture(autouse=True)
def _no_note_on_the_cache(monkeypatch):
    """networkx warns at the first use of each converted graph from its cache."""
    if VERSION >= (3, 4):
        monkeypatch.setattr(nx.config, "warnings_to_ignore", {"cache"})


def by_networkx(function, *args, **kwargs):
    """The result of networkx's own function, also if the backend has priority."""
    return function.orig_func(*args, **kwargs)


@pytest.fixture
def priority(monkeypatch):
    """The backend runs wherever it can and should."""
    if VERSION >= (3, 4):
        monkeypatch.setattr(nx.config.backend_priority, "algos", ["cutmatch"])
    elif VERSION >= (3, 3):
        monkeypatch.setattr(nx.config, "backend_priority", ["cutmatch"])
    else:
        monkeypatch.setattr(nx.utils.backends._dispatch, "_automatic_backends", ["cutmatch"])


@pytest.fixture
def ran(monkeypatch):
    """A list of the functions of the backend that returned a result."""
    names = []

    def counted(name, function):
        def run(*args, **kwargs):
            result = function(*args, **kwargs)
            names.append(name)
            return result

        return run

    for name in FUNCTIONS:
        monkeypatch.setattr(backend, name, counted(name, getattr(backend, name)))
    return names


@pytest.fixture
def preferred(monkeypatch, priority, ran):
    """Every supported call goes to the backend, whatever the size; a list of what ran."""
    monkeypatch.setattr(backend, "should_run", lambda name, args, kwargs: True)
    return ran


@pytest.mark.usefixtures("preferred")
class TestTheirMatchings(BIPARTITE.get("TestMatching", object)):
    """networkx's tests of bipartite matchings."""


@pytest.mark.usefixtures("preferred")
class TestTheirFullMatchings(BIPARTITE.get("TestMinimumWeightFullMatching", object)):
    """networkx's tests of full matchings."""


@pytest.mark.usefixtures("preferred")
class TestTheirFlows(FLOW.get("TestMaxflowMinCutCommon", object)):
    """networkx's tests of flows by its algorithms, and by the backend on the same graphs."""

    @pytest.fixture(autouse=True)
    def _also_by_the_backend(self, monkeypatch, preferred):
        space = FLOW["TestMaxflowMinCutCommon"].test_graph1.__globals__
        theirs = space["compare_flows_and_cuts"]

        def compare(G, s, t, *expected, capacity="capacity"):
            theirs(G, s, t, *expected, capacity=capacity)
            value = expected[-1]
            preferred.clear()
            found, flow = nx.maximum_flow(G, s, t, capacity)
            assert found == value
            assert nx.maximum_flow_value(G, s, t, capacity) == nx.minimum_cut_value(G, s, t, capacity) == value
            space["validate_flows"](G, s, t, flow, value, capacity, nx.minimum_cut)
            found, partition = nx.minimum_cut(G, s, t, capacity)
            space["validate_cuts"](G, s, t, found, partition, capacity, nx.minimum_cut)
            assert partition == by_networkx(nx.minimum_cut, G, s, t, capacity)[1]
            assert set(preferred) == (set() if callable(capacity) else set(FLOWS))

        monkeypatch.setitem(space, "compare_flows_and_cuts", compare)


@pytest.mark.usefixtures("preferred")
class TestTheirFlowsOfMinimumCost(COST_FLOW.get("TestMinCostFlow", object)):
    """networkx's tests of flows of minimum cost."""

    test_digraph1 = None  # one of several optimal flows


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph])
def test_flows_of_minimum_cost(kind, ran):
    rng = np.random.default_rng(5)
    graph = nx.gnm_random_graph(30, 150, seed=2, directed=True)
    graph = kind([*graph.edges, *list(graph.edges)[:40]])
    for _, _, data in graph.edges(data=True):
        data |= {"capacity": int(rng.integers(1, 9)), "weight": int(rng.integers(-2, 20))}
    graph.add_node(0, demand=-3)
    graph.add_node(9, demand=3)
    cost, flow = nx.network_simplex(graph, backend="cutmatch")
    assert cost == by_networkx(nx.network_simplex, graph)[0]
    if kind is nx.DiGraph:
        assert nx.cost_of_flow(graph, flow) == cost
    assert set(ran) == {"network_simplex"}


@pytest.mark.usefixtures("preferred")
class TestTheirInterface(FLOW.get("TestMaxFlowMinCutInterface", object)):
    """networkx's tests of arguments."""


def test_the_backend_ran(preferred):
    """So that the tests above are of it."""
    graph = nx.complete_bipartite_graph(3, 4)
    nx.bipartite.maximum_matching(graph)
    nx.bipartite.minimum_weight_full_matching(graph)
    assert preferred == ["hopcroft_karp_matching", "minimum_weight_full_matching"]


def bipartite(n, m, edges, seed):
    """A connected bipartite graph whose nodes are strings, shuffled."""
    rng = random.Random(seed)
    graph = nx.Graph()
    left, right = [f"a{i}" for i in range(n)], [f"b{j}" for j in range(m)]
    nodes = left + right
    rng.shuffle(nodes)
    graph.add_nodes_from(nodes)
    graph.add_edges_from((f"a{i}", "b0") for i in range(n))
    graph.add_edges_from(("a0", f"b{j}") for j in range(m))
    graph.add_edges_from((rng.choice(left), rng.choice(right)) for _ in range(edges))
    for _, _, data in graph.edges(data=True):
        data["weight"] = rng.randrange(100)
        data["capacity"] = rng.randrange(10)
    return graph, left


def outcome(function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except Exception as error:  # noqa: BLE001
        return type(error), str(error)
    return None


def infinite_path():
    graph = nx.path_graph(4)
    graph.edges[0, 1]["capacity"] = np.inf
    return graph


@pytest.mark.parametrize(
    "arguments",
    [
        (nx.path_graph(3), nx.minimum_cut, 0, 7),
        (nx.path_graph(3), nx.minimum_cut, 7, 0),
        (nx.path_graph(3), nx.maximum_flow_value, 1, 1),
        (nx.MultiGraph([(0, 1), (0, 1)]), nx.minimum_cut_value, 0, 1),
        (nx.path_graph(3), nx.maximum_flow, 0, 2),
        (infinite_path(), nx.minimum_cut, 0, 3),
        (nx.Graph([(0, 1), (2, 3)]), nx.bipartite.maximum_matching),
        (nx.complete_graph(3), nx.bipartite.maximum_matching),
        (nx.Graph(), nx.bipartite.maximum_matching),
        (nx.Graph([(0, 1), (2, 3)]), nx.bipartite.minimum_weight_full_matching),
        (nx.star_graph(0), nx.bipartite.maximum_matching),
        (nx.Graph([(0, 2), (1, 2), (1, 3)]), nx.bipartite.maximum_matching, [0]),
    ],
)
def test_exceptions_are_those_of_networkx(arguments):
    graph, function, *rest = arguments
    expected = outcome(by_networkx, function, graph, *rest)
    found = outcome(function, graph, *rest, backend="cutmatch")
    if expected is not None and issubclass(expected[0], KeyError):
        assert issubclass(found[0], nx.NetworkXError)  # networkx fails by accident
    else:
        assert found == expected


def weighted(weights, attribute="capacity", kind=nx.DiGraph):
    """A path with these attributes; None: without."""
    graph = nx.path_graph(len(weights) + 1, create_using=kind)
    for i, weight in enumerate(weights):
        if weight is not None:
            graph.edges[i, i + 1][attribute] = weight
    return graph


def test_attributes_that_are_no_numbers_are_left_to_networkx(preferred):
    graph = nx.Graph([(0, 1, {"weight": "3"})])
    with pytest.raises(NotImplementedError):
        nx.bipartite.minimum_weight_full_matching(graph, [0], backend="cutmatch")
    paths = weighted(["3", 4]), weighted([None, 3j]), weighted([Decimal(2), 3])
    for path in paths:
        assert outcome(nx.maximum_flow_value, path, 0, 2) == outcome(by_networkx, nx.maximum_flow_value, path, 0, 2)
    assert not preferred


@pytest.mark.parametrize("name", FLOWS)
def test_flows_run_on_the_backend_by_name_and_by_priority(name, ran, priority):
    """Also a second time, from networkx's cache, and of another attribute of the same converted graph."""
    graph = nx.gnp_random_graph(60, 0.3, seed=1, directed=True)
    for i, (_, _, data) in enumerate(graph.edges(data=True)):
        data["capacity"], data["width"] = i % 17, i % 5 + 0.5
    function = getattr(nx, name)
    for options in ({}, {"capacity": "width"}, {"capacity": "length"}):
        expected = outcome(by_networkx, function, graph, 0, 59, **options)
        for keywords in ({"backend": "cutmatch"}, {}, {"backend": "cutmatch"}):
            ran.clear()
            assert outcome(function, graph, 0, 59, **options, **keywords) == expected
            assert ran == ([] if expected else [name])
            if expected is None:
                found, wanted = (
                    function(graph, 0, 59, **options, **keywords),
                    by_networkx(function, graph, 0, 59, **options),
                )
                assert found == wanted if "flow" not in name or "value" in name else found[0] == wanted[0]


def test_functions_as_arguments_are_left_to_networkx(preferred):
    graph = weighted([4, 8])

    def half(u, v, data):
        return data["capacity"] / 2

    if VERSION >= (3, 7):
        for name in FLOWS:
            function = getattr(nx, name)
            assert function(graph, 0, 2, half) == by_networkx(function, graph, 0, 2, half)
            assert function(graph, 0, 2, capacity=half) == by_networkx(function, graph, 0, 2, half)
    shortest = nx.algorithms.flow.shortest_augmenting_path
    assert nx.maximum_flow_value(graph, 0, 2, flow_func=shortest, two_phase=True) == 4
    assert not preferred
    for keywords in ({"capacity": half}, {"flow_func": shortest}, {"flow_func": shortest, "two_phase": True}):
        with pytest.raises((NotImplementedError, RuntimeError)):
            nx.maximum_flow_value(graph, 0, 2, backend="cutmatch", **keywords)


INF = float("inf")
OVERFLOWING = [1e308, 1e308, INF], [2**61] * 8


@pytest.mark.parametrize(
    "capacities",
    [
        [2**70, 5, 7],
        [2**70, 0.5],
        [10**400, 5, 7],
        [np.uint64(2**63 + 5), np.int64(3)],
        [2**63, -1],
        [3, 4.5, INF],
        [2**61 + 1, 0.5, 2**61],
        *OVERFLOWING,
        [np.float32(0.5), 2],
        [float("nan"), 3.0],
        [0, INF],
    ],
)
@pytest.mark.parametrize("kind", [nx.DiGraph, nx.Graph])
def test_large_and_mixed_capacities_are_exact_or_left_to_networkx(capacities, kind, preferred):
    graph = weighted(capacities, kind=kind)
    end = len(capacities)
    plain = weighted([int(one) if isinstance(one, np.integer) else one for one in capacities], kind=kind)
    expected = by_networkx(nx.maximum_flow_value, plain, 0, end)  # numpy's integers wrap around in networkx
    for name in FLOWS:
        found = getattr(nx, name)(graph, 0, end)
        value = found if name.endswith("value") else found[0]
        assert value == expected
        if not any(isinstance(one, float | np.floating) and one != INF for one in capacities):
            assert isinstance(value, int)
    if kind is nx.DiGraph and capacities not in OVERFLOWING:  # else networkx solves what overflows here
        assert set(preferred) == set(FLOWS)


def contents(graph):
    """Everything a graph holds, in order."""
    return [graph.graph, *graph.nodes(data=True), *((u, v, dict(data)) for u, v, data in graph.edges(data=True))]


@pytest.mark.parametrize("directed", [False, True])
def test_no_graph_is_changed(directed):
    graph, left = bipartite(12, 12, 60, 3)
    graph.edges["a0", "b0"]["weight"] = graph.edges["a1", "b0"]["weight"] = INF
    graph.edges["a2", "b0"]["capacity"] = -1
    graph.edges["a3", "b0"]["capacity"] = 2**70
    for i in range(12):
        graph.add_edge(f"a{i}", f"b{i}", weight=2)
    del graph.edges["a5", "b5"]["weight"]
    graph = graph.to_directed() if directed else graph
    before = deepcopy(contents(graph))
    for name in FLOWS:
        getattr(nx, name)(graph, "a0", "b7", backend="cutmatch")
    if not directed:
        nx.bipartite.maximum_matching(graph, left, backend="cutmatch")
        nx.bipartite.minimum_weight_full_matching(graph, tuple(left), backend="cutmatch")
    assert contents(graph) == before


@pytest.mark.skipif(VERSION < (3, 4), reason="networkx keeps no conversions, or not by default")
def test_the_conversion_is_cached_until_the_graph_changes(monkeypatch):
    graph, left = bipartite(30, 30, 200, 1)
    count = []
    init = backend.ConvertedGraph.__init__
    monkeypatch.setattr(backend.ConvertedGraph, "__init__", lambda *args: (count.append(1), init(*args))[1])
    for _ in range(3):
        found = nx.bipartite.maximum_matching(graph, left, backend="cutmatch")
    assert len(count) == 1
    graph.remove_nodes_from(list(found)[:2])
    nx.bipartite.maximum_matching(graph, backend="cutmatch")
    assert len(count) == 2


def test_when_it_runs():
    small, _ = bipartite(5, 5, 9, 1)
    large, _ = bipartite(200, 200, 1500, 1)
    assert "as fast" in backend.should_run("hopcroft_karp_matching", (small,), {})
    assert backend.should_run("hopcroft_karp_matching", (), {"G": large}) is True
    assert backend.should_run("minimum_cut", (), {"flowG": nx.DiGraph(large)}) is True
    assert "flow_func" in backend.can_run("minimum_cut", (large, 0, 1, "capacity", print), {})
    assert "flow_func" in backend.can_run("maximum_flow", (large, 0, 1), {"cutoff": 3})
    assert "functions" in backend.can_run("maximum_flow", (large, 0, 1), {"capacity": print})
    assert "functions" in backend.can_run("maximum_flow", (large, 0, 1, print), {})
    assert "parallel" in backend.can_run("minimum_weight_full_matching", (nx.MultiGraph(),), {})
    assert "has no" in backend.can_run("pagerank", (large,), {})
    assert backend.can_run("minimum_cut_value", (large, 0, 1), {"capacity": "x"}) is True
