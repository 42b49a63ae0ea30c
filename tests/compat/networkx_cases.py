"""The backend of networkx: networkx's own tests through its dispatch, values, caching, and when it runs.

test_networkx_backend.py runs this file in a process whose networkx has found the backend by its entry points.
"""

import random

import networkx as nx
import numpy as np
import pytest

from apps.compat import networkx as backend
from apps.compat.networkx_info import FUNCTIONS
from tests.compat.borrowed_tests import borrowed

BIPARTITE = borrowed("networkx.algorithms.bipartite.tests.test_matching")
GENERAL = borrowed("networkx.algorithms.tests.test_matching")
FLOW = borrowed("networkx.algorithms.flow.tests.test_maxflow")


@pytest.fixture(autouse=True)
def _no_note_on_the_cache(monkeypatch):
    """networkx warns at the first use of each converted graph from its cache."""
    monkeypatch.setattr(nx.config, "warnings_to_ignore", {"cache"})


@pytest.fixture
def preferred(monkeypatch):
    """Every supported call goes to the backend, whatever the size; a list of what ran."""
    ran = []
    monkeypatch.setattr(nx.config.backend_priority, "algos", ["cutmatch"])
    monkeypatch.setattr(backend, "should_run", lambda name, args, kwargs: True)
    for name in FUNCTIONS:
        function = getattr(backend, name)
        monkeypatch.setattr(
            backend, name, lambda *args, _f=function, _n=name, **kwargs: (ran.append(_n), _f(*args, **kwargs))[1]
        )
    return ran


@pytest.mark.usefixtures("preferred")
class TestTheirMatchings(BIPARTITE.get("TestMatching", object)):
    """networkx's tests of bipartite matchings."""


@pytest.mark.usefixtures("preferred")
class TestTheirFullMatchings(BIPARTITE.get("TestMinimumWeightFullMatching", object)):
    """networkx's tests of full matchings."""


@pytest.mark.usefixtures("preferred")
class TestTheirMaximalMatchings(GENERAL.get("TestMaximalMatching", object)):
    """networkx's tests of maximal matchings."""


@pytest.mark.usefixtures("preferred")
class TestTheirFlows(FLOW.get("TestMaxflowMinCutCommon", object)):
    """networkx's tests of flows by its algorithms, and by the backend on the same graphs."""

    @pytest.fixture(autouse=True)
    def _also_by_the_backend(self, monkeypatch, preferred):
        space = FLOW["TestMaxflowMinCutCommon"].test_graph1.__globals__
        theirs = space["compare_flows_and_cuts"]

        def compare(G, s, t, value, capacity="capacity"):
            theirs(G, s, t, value, capacity)
            preferred.clear()
            found, flow = nx.maximum_flow(G, s, t, capacity)
            assert found == value
            assert nx.maximum_flow_value(G, s, t, capacity) == nx.minimum_cut_value(G, s, t, capacity) == value
            space["validate_flows"](G, s, t, flow, value, capacity, nx.minimum_cut)
            found, partition = nx.minimum_cut(G, s, t, capacity)
            space["validate_cuts"](G, s, t, found, partition, capacity, nx.minimum_cut)
            assert partition == nx.minimum_cut(G, s, t, capacity, backend="networkx")[1]
            assert set(preferred) == {name for name in FUNCTIONS if name.startswith(("maximum_flow", "minimum_cut"))}

        monkeypatch.setitem(space, "compare_flows_and_cuts", compare)


@pytest.mark.usefixtures("preferred")
class TestTheirInterface(FLOW.get("TestMaxFlowMinCutInterface", object)):
    """networkx's tests of arguments."""


def test_the_backend_ran(preferred):
    """So that the tests above are of it."""
    graph = nx.complete_bipartite_graph(3, 4)
    nx.bipartite.maximum_matching(graph)
    nx.bipartite.minimum_weight_full_matching(graph)
    nx.maximal_matching(graph)
    assert preferred == ["hopcroft_karp_matching", "minimum_weight_full_matching", "maximal_matching"]


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


@pytest.mark.parametrize("seed", range(8))
def test_matchings_of_random_graphs(seed):
    graph, left = bipartite(20 + seed, 26, 60, seed)
    for top in (None, left, set(left)):
        found = nx.bipartite.maximum_matching(graph, top, backend="cutmatch")
        assert len(found) == len(nx.bipartite.maximum_matching(graph, left))
        assert all(found[partner] == node and graph.has_edge(node, partner) for node, partner in found.items())
    edges = nx.maximal_matching(graph, backend="cutmatch")
    assert nx.is_maximal_matching(graph, edges)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", [int, float])
def test_full_matchings_of_random_graphs(seed, kind):
    graph, left = bipartite(8, 9 + seed % 3, 80, seed)
    for _, _, data in graph.edges(data=True):
        data["weight"] = kind(data["weight"])
    found, expected = (
        nx.bipartite.minimum_weight_full_matching(graph, left, backend=name) for name in ("cutmatch", "networkx")
    )
    assert sum(graph.edges[edge]["weight"] for edge in found.items()) == sum(
        graph.edges[edge]["weight"] for edge in expected.items()
    )
    assert len(found) == len(expected)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("capacities", ["int", "float", "some infinite", "float and infinite", "large"])
def test_flows_of_random_graphs(directed, capacities):
    for seed in range(6):
        rng = random.Random(seed)
        graph = nx.gnp_random_graph(14, 0.3, seed=seed, directed=directed)
        for u, v, data in graph.edges(data=True):
            amount = {"int": rng.randrange(-2, 20), "large": rng.randrange(10**12)}.get(capacities, rng.random() * 9)
            data["capacity"] = rng.randrange(20) if capacities == "some infinite" else amount
            if "infinite" in capacities and rng.random() < 0.2 and not {u, v} & {0, 13}:
                del data["capacity"]
        expected, partition = nx.minimum_cut(graph, 0, 13)
        value, found = nx.minimum_cut(graph, 0, 13, backend="cutmatch")
        assert value == pytest.approx(expected, rel=1e-12)
        assert type(value) is type(expected) or expected == 0
        if capacities in ("int", "some infinite", "large"):
            assert found == partition
        value, flow = nx.maximum_flow(graph, 0, 13, backend="cutmatch")
        assert value == pytest.approx(expected, rel=1e-9)
        for u, ends in flow.items():
            assert list(ends) == list(graph[u])
            for v, amount in ends.items():
                assert 0 <= amount <= max(0, graph.edges[u, v].get("capacity", np.inf)) * (1 + 1e-9)
        for node in graph:
            net = sum(flow[node].values()) - sum(ends.get(node, 0) for ends in flow.values())
            assert net == pytest.approx({0: value, 13: -value}.get(node, 0), abs=1e-6 if "float" in capacities else 0)


def outcome(name, *args):
    graph, function, *rest = args
    try:
        function(graph, *rest, backend=name)
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
    expected, found = outcome("networkx", *arguments), outcome("cutmatch", *arguments)
    if expected is not None and issubclass(expected[0], KeyError):
        assert issubclass(found[0], nx.NetworkXError)  # networkx fails by accident
    else:
        assert found == expected


def test_attributes_that_are_no_numbers_are_left_to_networkx():
    graph = nx.Graph([(0, 1, {"weight": "3"})])
    with pytest.raises(NotImplementedError, match="cutmatch"):
        nx.bipartite.minimum_weight_full_matching(graph, [0], backend="cutmatch")


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
    assert "conversion" in backend.should_run("maximal_matching", (large,), {})
    nx.bipartite.maximum_matching(large, backend="cutmatch")
    assert backend.should_run("maximal_matching", (large,), {}) is True
    assert "flow_func" in backend.can_run("minimum_cut", (large, 0, 1, "capacity", print), {})
    assert "flow_func" in backend.can_run("maximum_flow", (large, 0, 1), {"cutoff": 3})
    assert "parallel" in backend.can_run("minimum_weight_full_matching", (nx.MultiGraph(),), {})
    assert "has no" in backend.can_run("pagerank", (large,), {})
    assert backend.can_run("minimum_cut_value", (large, 0, 1), {"capacity": "x"}) is True


def test_by_priority(monkeypatch):
    graph, left = bipartite(200, 200, 1500, 2)
    expected = len(nx.bipartite.maximum_matching(graph, left))
    ran = []
    function = backend.hopcroft_karp_matching
    monkeypatch.setattr(backend, "hopcroft_karp_matching", lambda *a, **k: (ran.append(1), function(*a, **k))[1])
    monkeypatch.setattr(nx.config.backend_priority, "algos", ["cutmatch"])
    assert len(nx.bipartite.maximum_matching(graph, left)) == expected
    assert ran
    assert nx.is_connected(graph)  # not a function of the backend


def test_every_function_is_networkx_s():
    for name in FUNCTIONS:
        assert callable(getattr(backend, name))
        assert name in nx.utils.backends._registered_algorithms
