"""The face of gco-wrapper and pygco: plain tests, and energies not above gco's where it is installed."""

import itertools

import numpy as np
import pytest

from gridcut.compat import gco as ours
from tests.tiers import in_quick_tier

METRIC = np.minimum(abs(np.subtract.outer(range(4), range(4))), 2)
# name of the weights -> where the two pixels of an edge are
ENDS = {
    "cost_v": (np.s_[:-1, :], np.s_[1:, :]),
    "cost_h": (np.s_[:, :-1], np.s_[:, 1:]),
    "cost_dr": (np.s_[:-1, :-1], np.s_[1:, 1:]),
    "cost_dl": (np.s_[:-1, 1:], np.s_[1:, :-1]),
}


def energy(unary, pairwise, weights, labels):
    labels = labels.reshape(unary.shape[:2])
    edges = sum((w * pairwise[labels[ENDS[name][0]], labels[ENDS[name][1]]]).sum() for name, w in weights.items())
    return np.take_along_axis(unary, labels[..., None], -1).sum() + edges


def problem(shape, names, labels, dtype, seed=0):
    rng = np.random.default_rng(seed)
    unary = rng.integers(0, 50, (*shape, labels)).astype(dtype)
    weights = {name: (10 * rng.integers(0, 4, np.empty(shape)[ENDS[name][0]].shape)).astype(dtype) for name in names}
    return unary, METRIC[:labels, :labels].astype(dtype), weights


@pytest.mark.parametrize("count", in_quick_tier([2, 4], (2).__eq__))
@pytest.mark.parametrize("algorithm", ["expansion", "swap"])
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_two_labels_are_optimal(dtype, algorithm, count):
    unary, pairwise, weights = problem((3, 4), list(ENDS)[:count], 2, dtype)
    labels = ours.cut_grid_graph(unary, pairwise, **weights, algorithm=algorithm)
    assert (labels.shape, labels.dtype) == ((12,), np.int32)
    tried = (np.array(one) for one in itertools.product(range(2), repeat=12))
    assert energy(unary, pairwise, weights, labels) == min(energy(unary, pairwise, weights, one) for one in tried)


@pytest.mark.parametrize("algorithm", in_quick_tier(["expansion", "swap"], "expansion".__eq__))
def test_the_four_functions_agree(algorithm):
    unary, pairwise, weights = problem((6, 7), ENDS, 4, np.int32)
    ones = {name: np.ones_like(weight) for name, weight in weights.items()}
    first = dict(itertools.islice(ones.items(), 2))
    four = ours.cut_grid_graph(unary, pairwise, **first, algorithm=algorithm)
    assert (ours.cut_grid_graph_simple(unary, pairwise, algorithm=algorithm) == four).all()
    assert (ours.cut_simple(unary, pairwise, n_iter=-1, algorithm=algorithm).ravel() == four).all()
    eight = ours.cut_grid_graph(unary, pairwise, **ones, algorithm=algorithm)
    assert (ours.cut_grid_graph_simple(unary, pairwise, connect=8, algorithm=algorithm) == eight).all()
    full = np.pad(weights["cost_v"], ((0, 1), (0, 0))), np.pad(weights["cost_h"], ((0, 0), (0, 1)))
    found = ours.cut_simple_vh(unary, pairwise, *full, n_iter=-1, algorithm=algorithm)
    assert found.shape == (6, 7)
    expected = ours.cut_grid_graph(unary, pairwise, weights["cost_v"], weights["cost_h"], algorithm=algorithm)
    assert (found.ravel() == expected).all()


def as_graph(unary, weights):
    """Edges, their weights and the costs of nodes of a problem on a grid."""
    nodes = np.arange(unary[..., 0].size).reshape(unary.shape[:2])
    edges = [np.stack((nodes[ENDS[name][0]].ravel(), nodes[ENDS[name][1]].ravel()), axis=1) for name in weights]
    return np.concatenate(edges), np.concatenate([w.ravel() for w in weights.values()]), unary.reshape(nodes.size, -1)


@pytest.mark.parametrize("algorithm", ["expansion", "swap"])
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_two_labels_of_a_graph_are_optimal(dtype, algorithm):
    unary, pairwise, weights = problem((3, 4), ENDS, 2, dtype)
    edges, given, costs = as_graph(unary, weights)
    labels = ours.cut_general_graph(edges[:, ::-1], given, costs, pairwise, algorithm=algorithm)
    assert (labels.shape, labels.dtype) == ((12,), np.int32)
    assert energy(unary, pairwise, weights, labels) == energy(
        unary, pairwise, weights, ours.cut_grid_graph(unary, pairwise, **weights)
    )
    ones = {name: np.ones_like(weight) for name, weight in weights.items()}
    labels = ours.cut_from_graph(edges, costs, pairwise, algorithm=algorithm)
    expected = ours.cut_grid_graph(unary, pairwise, **ones, algorithm=algorithm)
    assert energy(unary, pairwise, ones, labels) == energy(unary, pairwise, ones, expected)


def test_the_tests_of_gco_and_pygco():
    """The instances of their tests of general graphs."""
    unary = np.array([[2, 8, 8], [7, 3, 7], [8, 8, 2], [6, 4, 6]])
    chain = np.array([[0, 1], [1, 2], [2, 3]])
    labels = ours.cut_general_graph(chain, np.array([3, 10, 1]), unary, 1 - np.eye(3), n_iter=1)
    assert labels.tolist() == [0, 2, 2, 1]
    unary = np.array([[0.0, 1.0, 2.0], [4.0, 1.0, 0.0], [1.0, 0.0, 2.0]])
    edges, weights = np.array([[0, 1], [1, 2], [0, 2]], np.int32), np.array([2.0, 0.0, 0.0])
    assert ours.cut_general_graph(edges, weights, unary, 1 - np.eye(3), algorithm="swap").tolist() == [0, 2, 1]
    for pairwise in (None, np.zeros((3, 3))):
        labels = ours.cut_general_graph(edges, weights, unary, pairwise, algorithm="swap")
        assert labels.tolist() == unary.argmin(axis=1).tolist()
    rng = np.random.default_rng(1234)
    level = np.repeat([1, -1], 5) + rng.normal(0, 0.2, (10, 10))
    unary = (10 * np.dstack([level, -level])).astype(np.int32)
    expected = np.broadcast_to(np.repeat([1, 0], 5), (10, 10))
    pairwise = -10 * np.eye(2, dtype=np.int32)  # not 0 on the diagonal
    grid = as_graph(unary, {"cost_h": np.ones((10, 9)), "cost_v": np.ones((9, 10))})
    assert (ours.cut_simple(unary, pairwise) == expected).all()
    assert (ours.cut_from_graph(grid[0].astype(np.int32), grid[2], pairwise) == expected.ravel()).all()


def test_initial_labels():
    """A chain that no single swap leaves at the start, and that swaps from 0 do not reach."""
    chain = np.array([[0, 1], [1, 2]])
    unary = np.array([[0, 9, 1], [9, 9, 0], [9, 0, 9]])
    start = np.array([2, 2, 2])
    found = ours.cut_general_graph(chain, [0, 0], unary, np.zeros((3, 3)), 1, "expansion", start)
    assert found.tolist() == [0, 2, 1]
    free = np.zeros((3, 3), int)
    assert ours.cut_general_graph(chain, [1, 1], free, 1 - np.eye(3), init_labels=start).tolist() == [2, 2, 2]
    assert ours.cut_general_graph(chain, [1, 1], free, 1 - np.eye(3), algorithm="swap").tolist() == [0, 0, 0]


def test_diagonals_of_eight_neighbours():
    unary, pairwise, weights = problem((6, 7), ENDS, 3, np.float64)
    given = {name: np.full(w.shape, np.sqrt(2) if name in ("cost_dr", "cost_dl") else 1) for name, w in weights.items()}
    found = ours.cut_grid_graph_simple(unary, 9 * pairwise, connect=8)
    assert (found == ours.cut_grid_graph(unary, 9 * pairwise, **given)).all()


def test_invalid_graphs():
    unary, pairwise, edges = np.zeros((3, 2)), 1 - np.eye(2), np.array([[0, 1], [1, 2]])
    for arguments, error, message in [
        ((edges, [1, 1], unary[0], pairwise), ValueError, r"unary_cost must have the shape \(nodes, labels\)"),
        ((edges.T[0], [1, 1], unary, pairwise), ValueError, r"edges must have the shape \(edges, 2\)"),
        ((edges * 1.0, [1, 1], unary, pairwise), TypeError, "edges must hold integers, got float64"),
        ((edges, [1, 1, 1], unary, pairwise), ValueError, "one weight for each of the 2 edges"),
        ((edges + 1, [1, 1], unary, pairwise), ValueError, r"edges\[1\] is \[2, 3\], but nodes are numbered 0 to 2"),
        ((edges, [1, -1], unary, pairwise), ValueError, "weights must be finite and 0 or more"),
        ((edges, [1, 1], unary, pairwise, -1, "trws"), ValueError, "algorithm should be"),
        ((edges, [1, 1], unary, pairwise, 0), ValueError, "max_cycles"),
    ]:
        with pytest.raises(error, match=message):
            ours.cut_general_graph(*arguments)


def test_invalid_arguments():
    unary, pairwise, weights = problem((3, 4), ENDS, 3, np.int32)
    with pytest.raises(ValueError, match="connect must be 4 or 8"):
        ours.cut_grid_graph_simple(unary, pairwise, connect=6)
    with pytest.raises(ValueError, match="algorithm should be"):
        ours.cut_grid_graph_simple(unary, pairwise, algorithm="trws")
    with pytest.raises(ValueError, match=r"cost_h must have the shape \(3, 3\), got \(2, 4\)"):
        ours.cut_grid_graph(unary, pairwise, weights["cost_v"], weights["cost_v"])
    with pytest.raises(ValueError, match="not a metric"):
        ours.cut_grid_graph_simple(unary, pairwise**2)


@pytest.mark.parametrize("algorithm", ["expansion", "swap"])
@pytest.mark.parametrize("names", [["cost_v", "cost_h"], list(ENDS)])
def test_energies_of_gco(names, algorithm):
    """Both end in local minima, so single energies may be higher, but not their sum."""
    theirs = pytest.importorskip("gco", reason="gco-wrapper is not installed")
    energies = []
    for seed in range(8):
        unary, pairwise, weights = problem((9, 11), names, 4, np.int32, seed)
        labels = [one.cut_grid_graph(unary, pairwise, **weights, algorithm=algorithm) for one in (ours, theirs)]
        assert labels[0].dtype == labels[1].dtype
        energies.append([energy(unary, pairwise, weights, one) for one in labels])
    found, expected = np.sum(energies, axis=0)
    assert found <= 1.005 * expected


@pytest.mark.parametrize("algorithm", ["expansion", "swap"])
def test_energies_of_gco_on_graphs(algorithm):
    theirs = pytest.importorskip("gco", reason="gco-wrapper is not installed")
    energies = []
    for seed in range(8):
        unary, pairwise, weights = problem((9, 11), list(ENDS), 4, np.int32, seed)
        arguments = *as_graph(unary, weights), pairwise
        labels = [
            one.cut_general_graph(*arguments, algorithm=algorithm, down_weight_factor=1) for one in (ours, theirs)
        ]
        energies.append([energy(unary, pairwise, weights, one) for one in labels])
    found, expected = np.sum(energies, axis=0)
    assert found <= 1.005 * expected


def graph_of(unary, pairwise, edges, weights, module=ours, is_float=False):
    graph = module.GCO()
    graph.create_general_graph(*unary.shape, is_float)
    graph.set_data_cost(unary)
    graph.set_all_neighbors(*edges.T, weights)
    graph.set_smooth_cost(pairwise)
    return graph


@pytest.mark.parametrize("is_float", [False, True])
@pytest.mark.parametrize("move", ["expansion", "swap"])
def test_moves_of_the_class(move, is_float):
    """Cycles of a matrix, of the same costs by a function, and single moves: none leaves a better move."""
    unary, pairwise, weights = problem((5, 6), ["cost_v", "cost_h"], 4, float if is_float else int)
    edges, given, costs = as_graph(unary, weights)
    graph, other = (graph_of(costs, pairwise, edges, given, is_float=is_float) for _ in range(2))
    other.set_smooth_cost_function(lambda s1, s2, l1, l2: pairwise[l1, l2])
    assert graph.compute_energy() == other.compute_energy() == energy(unary, pairwise, weights, np.zeros(30, int))
    assert graph.expansion(0) == graph.compute_energy()
    for one in (graph, other):
        found = getattr(one, move)()
        labels = one.get_labels()
        assert (labels.dtype, labels.shape) == (np.int32, (30,))
        assert found == one.compute_energy() == energy(unary, pairwise, weights, labels)
        assert found == one.compute_data_energy() + one.compute_smooth_energy()
        assert type(found) is (float if is_float else int)
        if move == "expansion":
            assert not any(one.expansion_on_alpha(label) for label in range(4))
        else:
            for pair in itertools.combinations(range(4), 2):
                one.alpha_beta_swap(*pair)
        assert one.compute_energy() == found


@pytest.mark.parametrize("move", [("expansion_on_alpha", 1), ("alpha_beta_swap", 0, 2)])
def test_a_single_move_is_the_best_one(move):
    rng = np.random.default_rng(5)
    edges = rng.permuted(np.array(list(itertools.combinations(range(7), 2))), axis=1)
    unary, weights, start = rng.integers(0, 20, (7, 3)), rng.integers(0, 5, len(edges)), rng.integers(0, 3, 7)
    graph = graph_of(unary, METRIC[:3, :3], edges, weights)
    for site, label in enumerate(start.tolist()):
        graph.init_label_at_site(site, label)
    assert [graph.get_label_at_site(site) for site in range(7)] == start.tolist()

    def energy_of(labels):
        return unary[range(7), labels].sum() + (weights * METRIC[tuple(np.array(labels)[edges.T])]).sum()

    choices = [(label, 1) if len(move) == 2 else (0, 2) if label != 1 else (1,) for label in start.tolist()]
    getattr(graph, move[0])(*move[1:])
    assert graph.compute_energy() == min(energy_of(labels) for labels in itertools.product(*choices))


def test_the_graphs_of_gcos_tests():
    graph = ours.GCO()
    graph.create_general_graph(3, 2, True)
    assert graph.handle is not None
    graph.destroy_graph()
    graph = graph_of(np.array([[8, 1], [8, 2], [2, 8]]), 1 - np.eye(2), np.array([[0, 1], [1, 2]]), np.ones(2))
    graph.set_smooth_cost_function(lambda s1, s2, l1, l2: 5 if (s1, s2) == (0, 1) and l1 == l2 else 8)
    graph.expansion()
    assert graph.get_labels().tolist() == [1, 1, 0]


def test_edges_and_costs_one_at_a_time():
    many = graph_of(np.array([[0, 9], [5, 4], [9, 0]]), 1 - np.eye(2), np.array([[0, 1], [1, 2]]), np.array([3, 1]))
    one = ours.GCO()
    one.create_general_graph(3, 2)
    for site, costs in enumerate([[0, 9], [5, 4], [9, 0]]):
        for label, cost in enumerate(costs):
            one.set_site_data_cost(site, label, cost)
    one.set_neighbor_pair(0, 1, 3)
    one.set_neighbor_pair(1, 2, 1)
    one.set_pair_smooth_cost(0, 1, 1)
    one.set_pair_smooth_cost(1, 0, 1)
    assert many.expansion() == one.expansion() == 6
    assert many.get_labels().tolist() == one.get_labels().tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("error", "text", "call"),
    [
        (ours.ShapeMismatchError, r"unary must have the shape \(3, 2\)", lambda g: g.set_data_cost(np.ones((3, 3)))),
        (ours.ShapeMismatchError, r"cost must have the shape \(2, 2\)", lambda g: g.set_smooth_cost(np.eye(3))),
        (ours.DataTypeNotSupportedError, "symmetric", lambda g: g.set_smooth_cost(np.array([[0, 1], [2, 0]]))),
        (ours.IndexOutOfBoundError, "site must be from 0 to 2", lambda g: g.set_site_data_cost(3, 0, 1)),
        (ours.IndexOutOfBoundError, "label must be from 0 to 1", lambda g: g.set_site_data_cost(0, 2, 1)),
        (ours.IndexOutOfBoundError, "nodes of edges must be", lambda g: g.set_neighbor_pair(0, -1, 1)),
        (ours.IndexOutOfBoundError, "l1 and l2 must be", lambda g: g.set_pair_smooth_cost(0, 2, 1)),
        (ours.IndexOutOfBoundError, "l1 and l2 must be", lambda g: g.alpha_beta_swap(2, 0)),
        (ours.IndexOutOfBoundError, "label must be", lambda g: g.expansion_on_alpha(2)),
        (ours.IndexOutOfBoundError, "site must be", lambda g: g.get_label_at_site(3)),
        (ours.IndexOutOfBoundError, "label must be", lambda g: g.init_label_at_site(0, 2)),
    ],
)
def test_errors_of_the_class(error, text, call):
    graph = graph_of(np.ones((3, 2)), 1 - np.eye(2), np.array([[0, 1]]), np.ones(1))
    with pytest.raises(error, match=text):
        call(graph)


def test_a_move_of_costs_that_are_no_metric_is_an_error():
    graph = graph_of(np.zeros((2, 2), int), np.eye(2), np.array([[0, 1]]), np.ones(1))
    with pytest.raises(ValueError, match="a move needs costs of pairs"):
        graph.expansion_on_alpha(1)
