"""The faces of OR-tools' simple solvers: plain tests, and the same values as OR-tools where it is installed."""

import numpy as np
import pytest
import scipy.optimize
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from assign.compat.ortools import SimpleLinearSumAssignment, SimpleMinCostFlow
from gridcut.compat.ortools import SimpleMaxFlow


def sparse_costs(n, rng):
    left, right = np.nonzero((rng.random((n, n)) < 0.4) | np.eye(n, dtype=bool))
    return left, right, rng.integers(-5, 99, len(left))


@pytest.mark.parametrize("n", [1, 6, 40])
def test_assignments(n):
    left, right, cost = sparse_costs(n, np.random.default_rng(n))
    ours = SimpleLinearSumAssignment()
    assert ours.add_arcs_with_cost(left, right, cost + 3).tolist() == list(range(len(left)))
    for arc in zip(left.tolist(), right.tolist(), cost.tolist(), strict=True):  # a cheaper one beside each
        last = ours.AddArcWithCost(*arc)
        assert (ours.left_node(last), ours.right_node(last), ours.cost(last)) == arc
    assert ours.solve() == ours.OPTIMAL
    assert (ours.num_nodes(), ours.num_arcs()) == (n, 2 * len(left))
    dense = np.full((n, n), np.inf)
    dense[left, right] = cost
    mates = [ours.right_mate(node) for node in range(n)]
    assert sorted(mates) == list(range(n))
    assert [ours.assignment_cost(node) for node in range(n)] == dense[range(n), mates].tolist()
    assert ours.optimal_cost() == dense[scipy.optimize.linear_sum_assignment(dense)].sum()


def test_assignments_that_do_not_exist():
    ours = SimpleLinearSumAssignment()
    assert (ours.solve(), ours.optimal_cost()) == (ours.OPTIMAL, 0)
    ours.add_arc_with_cost(0, 0, 3)
    ours.add_arc_with_cost(1, 0, 2)
    assert (ours.Solve(), ours.OptimalCost()) == (ours.INFEASIBLE, 0)


def network(n, seed):
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, n, (2, 4 * n))  # loops, and several arcs between two nodes
    ours = SimpleMaxFlow()
    ours.add_arcs_with_capacity(tails, heads, rng.integers(0, 9, 4 * n))
    return ours


def arcs_of(network):
    arcs = range(network.num_arcs())
    return tuple(np.array([of(arc) for arc in arcs]) for of in (network.tail, network.head, network.capacity))


@pytest.mark.parametrize("n", [2, 5, 30])
@pytest.mark.parametrize("seed", range(4))
def test_flows_and_cuts(n, seed):
    ours = network(n, seed)
    assert ours.solve(0, n - 1) == ours.OPTIMAL
    tails, heads, capacities = arcs_of(ours)
    flows, value = ours.flows(range(ours.num_arcs())), ours.optimal_flow()
    graph = csr_array((capacities, (tails, heads)), shape=(n, n), dtype=np.int32)
    assert value == maximum_flow(graph, 0, n - 1).flow_value
    assert ((flows >= 0) & (flows <= capacities)).all()
    assert flows.tolist() == [ours.Flow(arc) for arc in range(ours.num_arcs())]
    balance = np.bincount(tails, flows, n) - np.bincount(heads, flows, n)
    assert balance.tolist() == [value, *[0] * (n - 2), -value]
    source_side, sink_side = (
        np.isin(range(n), one) for one in (ours.get_source_side_min_cut(), ours.GetSinkSideMinCut())
    )
    assert source_side[0]
    assert sink_side[n - 1]
    for side in (source_side, ~sink_side):
        assert capacities[side[tails] & ~side[heads]].sum() == value


def test_changes_and_bad_input():
    ours = SimpleMaxFlow()
    assert (ours.add_arc_with_capacity(0, 1, 5), ours.solve(0, 1), ours.flow(0)) == (0, ours.OPTIMAL, 5)
    ours.set_arc_capacity(0, 2)
    assert (ours.solve(0, 1), ours.optimal_flow()) == (ours.OPTIMAL, 2)
    ours.set_arcs_capacity([0], [3])
    assert (ours.solve(0, 1), ours.optimal_flow(), ours.capacity(0)) == (ours.OPTIMAL, 3, 3)
    assert ours.solve(1, 1) == ours.Status.BAD_INPUT
    assert (ours.solve(0, 4), ours.optimal_flow(), ours.get_source_side_min_cut()) == (ours.OPTIMAL, 0, [0, 1])
    assert SimpleMaxFlow().solve(0, 1) == ours.OPTIMAL


@pytest.mark.parametrize("seed", range(4))
def test_results_of_ortools(seed):
    module = "ortools.graph.python"
    theirs = pytest.importorskip(f"{module}.max_flow", reason="ortools is not installed").SimpleMaxFlow()
    ours = network(12, seed)
    theirs.add_arcs_with_capacity(*arcs_of(ours))
    assert int(ours.solve(0, 11)) == int(theirs.solve(0, 11))
    assert ours.optimal_flow() == theirs.optimal_flow()
    assert sorted(ours.get_source_side_min_cut()) == sorted(theirs.get_source_side_min_cut())
    assert sorted(ours.get_sink_side_min_cut()) == sorted(theirs.get_sink_side_min_cut())
    module = pytest.importorskip(f"{module}.linear_sum_assignment")
    costs = sparse_costs(12, np.random.default_rng(seed))
    both = SimpleLinearSumAssignment(), module.SimpleLinearSumAssignment()
    assert both[0].add_arcs_with_cost(*costs).tolist() == both[1].add_arcs_with_cost(*costs).tolist()
    assert int(both[0].solve()) == int(both[1].solve())
    assert both[0].optimal_cost() == both[1].optimal_cost()
    assert both[0].num_nodes() == both[1].num_nodes()


def cost_network(solver, seed):
    """A network in a solver of OR-tools' interface; supplies may exceed what can be shipped."""
    rng = np.random.default_rng(seed)
    arcs = rng.integers(0, 8, (2, 30))
    solver.add_arcs_with_capacity_and_unit_cost(*arcs, rng.integers(0, 6, 30), rng.integers(-3, 9, 30))
    supply = rng.integers(-6, 7, 8)
    supply[0] -= supply.sum()
    solver.set_nodes_supplies(np.arange(8), supply)
    return solver


def test_flows_of_minimum_cost():
    ours = SimpleMinCostFlow()
    assert (ours.solve(), ours.optimal_cost(), ours.num_nodes()) == (ours.OPTIMAL, 0, 0)
    assert ours.AddArcWithCapacityAndUnitCost(0, 1, 1, 3) == 0
    assert ours.add_arcs_with_capacity_and_unit_cost([0, 1], [1, 2], [2, 9], [4, -1]).tolist() == [1, 2]
    ours.set_node_supply(0, 5)
    assert (ours.solve(), ours.num_nodes()) == (ours.UNBALANCED, 3)
    ours.set_nodes_supplies([2], [-5])
    assert ours.solve() == ours.INFEASIBLE
    assert (ours.solve_max_flow_with_min_cost(), ours.maximum_flow(), ours.optimal_cost()) == (ours.OPTIMAL, 3, 8)
    ours.set_arc_capacities([0, 1], [3, 4])
    ours.set_arc_capacity(0, 4)
    assert (ours.solve(), ours.flows([0, 1, 2]).tolist(), ours.maximum_flow()) == (ours.OPTIMAL, [4, 1, 5], 5)
    assert (ours.tail(2), ours.head(2), ours.capacity(0), ours.unit_cost(2), ours.supply(1)) == (1, 2, 4, -1, 0)
    assert ours.flow(1) == 1


@pytest.mark.parametrize("seed", range(5))
def test_flows_of_minimum_cost_are_those_of_ortools(seed):
    module = "ortools.graph.python.min_cost_flow"
    theirs = pytest.importorskip(module, reason="ortools is not installed").SimpleMinCostFlow()
    ours, theirs = cost_network(SimpleMinCostFlow(), seed), cost_network(theirs, seed)
    assert int(ours.solve()) == int(theirs.solve())
    for network in (ours, theirs):
        assert network.solve_max_flow_with_min_cost() == network.OPTIMAL
    assert (ours.maximum_flow(), ours.optimal_cost()) == (theirs.maximum_flow(), theirs.optimal_cost())
