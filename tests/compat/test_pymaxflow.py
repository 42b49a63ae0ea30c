"""PyMaxflow's classes: values, segments and counts of the installed PyMaxflow on random graphs, ties included."""

import numpy as np
import pytest

import gridcut.compat.maxflow as ours

theirs = pytest.importorskip("maxflow", reason="PyMaxflow is not installed (extra 'bench')")
BOTH = (theirs, ours)
RIGHT, DOWN = np.zeros((2, 3, 3), int)
RIGHT[1, 2] = DOWN[2, 1] = 1
MOORE = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1]])  # PyMaxflow 1.3.2 has no directed one: it raises TypeError


def answers(module, build, kind, seed=0):
    """Edge count, value and segments after building, and again after terminals were added."""
    rng = np.random.default_rng(seed)
    graph = module.Graph[kind]()
    nodes = build(graph, module, rng)
    found = []
    for _ in range(2):
        value = graph.maxflow()
        assert type(value) is kind
        assert graph.maxflow() == value
        segments = graph.get_grid_segments(nodes)
        assert segments.dtype == bool
        some = nodes.ravel()[:3]
        assert [graph.get_segment(node) for node in some] == segments.ravel()[:3].tolist()
        found += [graph.get_node_count(), graph.get_edge_count(), value, segments.tolist()]
        graph.add_grid_tedges(nodes, rng.integers(0, 6, nodes.shape), rng.integers(0, 6, nodes.shape))
    return found


def terminals(graph, nodes, rng):
    """Small numbers, so that there are many ties; negative ones, and several for each node."""
    graph.add_grid_tedges(nodes, rng.integers(-3, 9, nodes.shape), rng.integers(-3, 9, nodes.shape))
    graph.add_tedge(int(nodes.flat[0]), 2, 1)
    return nodes


def default(graph, module, rng):
    nodes = graph.add_grid_nodes((6, 7))
    graph.add_grid_edges(nodes, 2)
    return terminals(graph, nodes, rng)


def symmetric_weights(graph, module, rng):
    nodes = graph.add_grid_nodes((6, 7))
    for structure in (RIGHT, DOWN, RIGHT[:, ::-1]):
        graph.add_grid_edges(nodes, rng.integers(0, 4, nodes.shape), structure=structure, symmetric=True)
    return terminals(graph, nodes, rng)


def one_way_weights(graph, module, rng):
    nodes = graph.add_grid_nodes((6, 7))
    graph.add_grid_edges(nodes, rng.integers(0, 4, 7), structure=rng.integers(0, 3, (3, 3)))
    graph.add_grid_edges(nodes, rng.integers(0, 4, (6, 1)), symmetric=True)
    return terminals(graph, nodes, rng)


def line(graph, module, rng):
    nodes = graph.add_grid_nodes(9)
    graph.add_grid_edges(nodes, rng.integers(0, 4, 9), structure=np.array([1, 0, 2]))
    return terminals(graph, nodes, rng)


def periodic(graph, module, rng):
    nodes = graph.add_grid_nodes((4, 5))
    graph.add_grid_edges(nodes, rng.integers(0, 4, nodes.shape), periodic=[True, False])
    graph.add_grid_edges(nodes, 1, structure=MOORE, symmetric=True, periodic=True)
    return terminals(graph, nodes, rng)


def with_a_link(graph, module, rng):
    nodes = symmetric_weights(graph, module, rng)
    graph.add_edge(nodes[0, 0], nodes[5, 6], 7, 1)
    graph.add_grid_edges(nodes, 1)
    return nodes


def central_node(graph, module, rng):
    nodes = graph.add_grid_nodes((5, 5)).ravel()
    pairs = np.stack((np.full(24, nodes[12]), np.delete(nodes, 12)))
    structure = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0]])
    graph.add_grid_edges(pairs, 3, structure=structure)
    return terminals(graph, nodes, rng)


def left_out_nodes(graph, module, rng):
    nodes = graph.add_grid_nodes((5, 5))
    kept = nodes.copy()
    kept[1, 1] = kept[3, 2] = -1
    graph.add_grid_edges(kept, 2, structure=MOORE, symmetric=True)
    return terminals(graph, nodes, rng)


def any_graph(graph, module, rng):
    nodes = graph.add_nodes(30)
    for _ in range(60):
        graph.add_edge(int(rng.integers(30)), int(rng.integers(30)), int(rng.integers(5)), int(rng.integers(5)))
    ends = rng.integers(0, 30, (2, 40))
    graph.add_edges(*ends, rng.integers(0, 5, 40), rng.integers(0, 5, 40))
    return terminals(graph, nodes, rng)


def image_by_edges(graph, module, rng):
    """A numbered image, as arcs in any order and direction, some of them parallel, and other arcs."""
    nodes = graph.add_nodes(1200)
    pixels = nodes.reshape(30, 40)
    tail = np.concatenate((pixels[:, :-1].ravel(), pixels[:-1].ravel(), [5, 5]))
    head = np.concatenate((pixels[:, 1:].ravel(), pixels[1:].ravel(), [6, 45]))
    order = rng.permutation(len(tail))
    is_turned = rng.random(len(tail)) < 0.3
    ends = np.where(is_turned, head, tail)[order], np.where(is_turned, tail, head)[order]
    graph.add_edges(*ends, *rng.integers(0, 5, (2, len(tail))))
    return terminals(graph, nodes, rng)


def trees(graph, module, rng, edges=1199):
    """A forest in any order, with isolated nodes, and with long paths; of one tree, if there are enough edges."""
    count = 1200
    nodes, order = graph.add_nodes(count), rng.permutation(count)
    before = [int(rng.integers(max(0, i - int(rng.choice((1, 3, count)))), i)) for i in range(1, count)]
    kept = rng.permutation(count - 1)[:edges]
    graph.add_edges(order[1:][kept], order[before][kept], *rng.integers(0, 5, (2, len(kept))))
    return terminals(graph, nodes, rng)


def trees_and_circles(graph, module, rng):
    nodes = trees(graph, module, rng, edges=1100)
    for _ in range(5):
        graph.add_edge(*map(int, rng.integers(0, 1200, 2)), 3, 2)
    graph.add_edge(1, 2, 1, 0)
    graph.add_edge(2, 1, 1, 2)
    return nodes


def no_edges(graph, module, rng):
    return terminals(graph, graph.add_grid_nodes((3, 3)), rng)


LAYOUTS = [
    default, symmetric_weights, one_way_weights, line, periodic, with_a_link, central_node, left_out_nodes, any_graph,
    image_by_edges, trees, trees_and_circles, no_edges,
]  # fmt: skip


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_answers_are_pymaxflows(layout, kind):
    for seed in range(4):
        assert answers(ours, layout, kind, seed) == answers(theirs, layout, kind, seed)


def test_infinite_capacities():
    """PyMaxflow's second example of layouts, on a small scale."""

    def build(module):
        graph = module.Graph[float]()
        nodes = graph.add_grid_nodes((4, 5))
        back = np.array([[np.inf, 0, 0]] * 3)
        graph.add_grid_edges(nodes, structure=back)
        weights = np.random.default_rng(1).integers(10, 90, nodes.shape)
        graph.add_grid_edges(nodes, weights, structure=RIGHT)
        graph.add_grid_edges(nodes, weights + 9, structure=DOWN)
        graph.add_grid_tedges(nodes[:, 0], np.inf, 0)
        graph.add_grid_tedges(nodes[:, -1], 0, np.inf)
        return graph.maxflow(), graph.get_grid_segments(nodes).tolist()

    assert build(ours) == build(theirs)


def test_infinite_cuts_are_errors():
    """PyMaxflow does not return."""
    for add_nodes, shape in (("add_nodes", 2), ("add_grid_nodes", (2, 2))):
        graph = ours.GraphFloat()
        nodes = getattr(graph, add_nodes)(shape)
        graph.add_grid_edges(nodes, np.inf)
        graph.add_tedge(0, np.inf, 0)
        graph.add_tedge(1, 0, np.inf)
        with pytest.raises(ValueError, match="every cut has infinite capacity"):
            graph.maxflow()
    graph.add_tedge(0, 0, np.inf)
    with pytest.raises(ValueError, match="node 0 has terminal capacities inf and inf; one must be finite"):
        graph.maxflow()


def test_life_of_a_graph():
    for module in BOTH:
        graph = module.GraphInt(2, 2)
        nodes = graph.add_nodes(2)
        assert nodes.tolist() == [0, 1]
        assert graph.get_segment(0) == 0
        graph.add_edge(0, 1, 3.9, 0)
        graph.add_tedge(0, 9, 2)
        graph.add_tedge(0, 1, 3)
        graph.add_tedge(1, -4, -7)
        assert (graph.maxflow(), graph.get_grid_segments(nodes).tolist()) == (-2, [False, False])
        graph.add_tedge(1, 0, 10)
        assert graph.get_segment(1) == 0  # until the next solution
        graph.mark_node(1)
        assert graph.maxflow(True) == 4
        assert graph.get_segment(1) == 1
        assert graph.add_nodes(1).tolist() == [2]
        assert graph.get_grid_segments(np.array([1, 2])).tolist() == [True, False]
        other = graph.copy()
        assert (other.maxflow(), other.get_node_num(), other.get_edge_num()) == (4, 3, 2)
        graph.reset()
        assert (graph.maxflow(), graph.get_node_count(), graph.get_edge_count()) == (0, 0, 0)
        assert other.get_node_count() == 3


@pytest.mark.parametrize("largest", [2**54 + 1, 1e-300, 1e300, np.inf])
def test_trees_of_unusual_capacities(largest):
    """A path with a circle at its end, in which the largest capacity is next to small ones."""
    found = []
    for module in BOTH:
        graph = module.Graph[int if isinstance(largest, int) else float]()
        nodes = graph.add_nodes(1500)
        graph.add_edges(nodes[:-1], nodes[1:], np.where(nodes[1:] % 7, largest, 3), np.where(nodes[1:] % 2, largest, 0))
        graph.add_edge(5, 9, largest, largest)
        graph.add_grid_tedges(nodes[700:703], largest, 2)
        graph.add_grid_tedges(nodes[::500], 0, 9 if largest == np.inf else largest)
        found.append((graph.maxflow(), graph.get_grid_segments(nodes).tolist()))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-9)
    assert found[0][1] == found[1][1]


def grid(module=ours, kind=int):
    graph = module.Graph[kind]()
    return graph, graph.add_grid_nodes((2, 3))


@pytest.mark.parametrize(
    "call",
    [
        lambda g, n: g.add_edge(0, 99, 1, 1),
        lambda g, n: g.add_edge(0, "a", 1, 1),
        lambda g, n: g.add_edge(0, 1, 1),
        lambda g, n: g.add_tedge(0, "a", 1),
        lambda g, n: g.get_segment(-1),
        lambda g, n: g.get_segment("a"),
        lambda g, n: g.add_tedge(99, 1, 1),
        lambda g, n: g.get_segment(99),
        lambda g, n: g.get_grid_segments(np.array([99])),
        lambda g, n: g.get_grid_segments([0]),
        lambda g, n: g.add_grid_tedges([0], 1, 1),
        lambda g, n: g.add_grid_tedges(n, np.ones((2, 2)), 1),
        lambda g, n: g.add_grid_tedges(np.array([99]), 1, 1),
        lambda g, n: g.add_grid_edges([0, 1], 1),
        lambda g, n: g.add_grid_edges(n, np.ones((3, 3))),
        lambda g, n: g.add_grid_edges(n, structure=np.ones((2, 2))),
        lambda g, n: g.add_grid_edges(n, structure=np.ones((1, 1, 3))),
        lambda g, n: g.add_grid_edges(n, periodic=[True]),
        lambda g, n: g.add_grid_edges(np.array([0, 99]), 1),
        lambda g, n: g.add_grid_nodes((2.0, 3)),
    ],
)
def test_exceptions_are_those_of_pymaxflow(call):
    with pytest.raises((TypeError, ValueError, RuntimeError)) as expected:
        call(*grid(theirs))
    with pytest.raises(expected.type):
        call(*grid())


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda g, n: g.add_edge(0, 1, -1, 1), "capacities between nodes must be 0 or more"),
        (lambda g, n: g.add_edges([0], [1], [1], [-1]), "capacities between nodes must be 0 or more"),
        (lambda g, n: g.add_grid_edges(n, -1), "capacities between nodes must be 0 or more"),
        (lambda g, n: g.add_edges([0, 1], [1], [1], [1]), "vectors of the same length"),
        (lambda g, n: g.add_grid_tedges(n, np.nan, 0), "must be finite"),
        (lambda g, n: g.add_nodes(-1), "num_nodes must be 0 or more"),
        (lambda g, n: g.add_grid_nodes((-1, 2)), "must not be negative"),
    ],
)
def test_where_pymaxflow_goes_on_or_crashes(call, text):
    with pytest.raises(ValueError, match=text):
        call(*grid())


@pytest.mark.parametrize("shape", [(7, 9), pytest.param((4, 5, 6), marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["aexpansion_grid", "abswap_grid"])
def test_several_labels(name, shape):
    rng = np.random.default_rng(3)
    unary = rng.integers(0, 30, (*shape, 4)).astype(float)
    binary = 5.0 * np.minimum(np.abs(np.subtract.outer(np.arange(4), np.arange(4))), 2)
    expected, found = (getattr(module.fastmin, name)(unary, binary) for module in BOTH)
    energy = [theirs.fastmin.energy_of_grid_labeling(unary, binary, labels) for labels in (found, expected)]
    assert energy[0] == ours.fastmin.energy_of_grid_labeling(unary, binary, found)
    assert energy[0] <= energy[1] * (1 if name == "aexpansion_grid" else 1.02)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    given = np.zeros(shape, np.int64)
    assert getattr(ours, name)(unary, binary, labels=given) is given
    assert (getattr(ours, name)(unary, binary, max_cycles=0) == unary.argmin(-1)).all()


@pytest.mark.parametrize(
    "arguments",
    [
        (np.float64(3), np.zeros((1, 1))),
        (np.zeros((3, 0)), np.zeros((0, 0))),
        (np.zeros((3, 2)), np.zeros((3, 3))),
        (np.zeros((3, 2)), np.zeros((2, 2)), None, np.array([0, 1, 2])),
        (np.zeros((3, 2)), np.zeros((2, 2)), None, np.array([0, 1, -1])),
    ],
)
def test_exceptions_of_fastmin(arguments):
    for name in ("aexpansion_grid", "abswap_grid"):
        with pytest.raises(ValueError, match=r".") as expected:
            getattr(theirs, name)(*arguments)
        with pytest.raises(ValueError, match=r".") as found:
            getattr(ours, name)(*arguments)
        assert str(found.value) == str(expected.value)
