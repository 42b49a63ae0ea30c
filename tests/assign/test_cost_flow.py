"""min_cost_flow: networks by hand, random ones against linear programming, certificates, errors, bad arguments."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import assign
from assign.methods import FLOW_METHODS

METHODS = list(FLOW_METHODS)


def best_cost(tail, head, capacity, cost, supply, lower):
    """The cost by SciPy's linear programming; "infeasible" or "unbounded"."""
    balance, arcs = np.zeros((len(supply), len(tail))), np.arange(len(tail))
    np.add.at(balance, (tail, arcs), 1)
    np.subtract.at(balance, (head, arcs), 1)
    found = linprog(cost, A_eq=balance, b_eq=supply, bounds=np.column_stack([lower, capacity]))
    if found.status in (3, 4):  # unbounded, or HiGHS does not know
        return "unbounded" if best_cost(tail, head, capacity, 0 * cost, supply, lower) == 0 else "infeasible"
    return "infeasible" if found.status == 2 else round(found.fun)


def random_network(rng):
    """Few nodes and many arcs: parallel ones, loops, negative costs, no limits, lower bounds."""
    n, m = int(rng.integers(1, 9)), int(rng.integers(1, 25))
    tail, head = rng.integers(0, n, (2, m))
    lower = rng.integers(-2, 3, m) * int(rng.random() < 0.3)
    capacity = np.maximum(rng.integers(0, 6, m), lower).astype(float)
    capacity[rng.random(m) < rng.choice([0, 0.15])] = np.inf
    cost = rng.integers(rng.choice([-5, 0]), 10, m)
    supply = rng.integers(-3, 4, n) * (rng.random(n) < rng.choice([0.3, 1]))
    supply[0] -= supply.sum()
    return tail, head, capacity, cost, supply, lower


def certified_cost(network, method, start=None):
    """The certified cost, or the kind of error, which is certified too."""
    try:
        found = assign.min_cost_flow(*network, method=method, start=start)
    except (assign.InfeasibleFlowError, assign.UnboundedFlowError) as error:
        failed = pickle.loads(pickle.dumps(error))
    else:
        found.check()
        return found.cost
    if isinstance(failed, assign.InfeasibleFlowError):
        failed.check(*network)
        return "infeasible"
    tail, head, capacity, cost = (values[failed.arcs] for values in network[:4])
    assert np.isinf(capacity).all()
    assert (head == np.roll(tail, -1)).all()
    assert failed.cost == cost.sum() < 0
    return "unbounded"


def compare(rng, count, method):
    outcomes = set()
    for _ in range(count):
        network = random_network(rng)
        found, expected = certified_cost(network, method), best_cost(*network)
        assert found == expected
        outcomes.add(found if isinstance(found, str) else "optimal")
    assert outcomes == {"infeasible", "unbounded", "optimal"}


@pytest.mark.parametrize("method", METHODS)
def test_random_networks(method):
    compare(np.random.default_rng(1), 200, method)


@pytest.mark.thorough
@pytest.mark.parametrize("method", METHODS)
def test_many_random_networks(method):
    compare(np.random.default_rng(2), 10_000, method)


@pytest.mark.parametrize("method", METHODS)
def test_changed_networks_from_earlier_results(method):
    """All kinds of changes at once, from results of either method, against linear programming."""
    rng = np.random.default_rng(4)
    outcomes = []
    while len(outcomes) < 150:
        network = tail, head, capacity, cost, supply, lower = random_network(rng)
        if isinstance(best_cost(*network), str):
            continue
        start = assign.min_cost_flow(*network, method=method)
        some = rng.random((3, len(tail))) < rng.choice([0, 0.2, 1], (3, 1))
        low = np.where(some[0], rng.integers(-1, 2, len(tail)), lower)
        limit = np.maximum(np.where(some[1], rng.integers(0, 6, len(tail)), capacity), low)
        price = np.where(some[2], rng.integers(-3, 10, len(tail)), cost)
        changed = tail, head, limit, price, rng.permutation(supply), low
        found = certified_cost(changed, "auto", start)
        assert found == best_cost(*changed)
        outcomes.append(found if isinstance(found, str) else "optimal")
    assert set(outcomes) == {"infeasible", "unbounded", "optimal"}


def test_small_changes_need_few_pivots():
    rng = np.random.default_rng(5)
    tail, head = np.hstack([rng.integers(0, 1000, (2, 8000)), [np.arange(1000), np.roll(np.arange(1000), 1)]])
    cost, capacity = np.append(rng.integers(1, 1000, 8000), np.full(1000, 10**6)), rng.integers(1, 200, 9000)
    capacity[8000:], supply = 10**4, np.repeat([9, -9, 0], [100, 100, 800])
    network = tail, head, capacity, cost, supply
    cold = assign.min_cost_flow(*network)
    again = assign.min_cost_flow(*network, start=cold)
    assert again.cost == cold.cost
    assert again.stats["pivots"] < cold.stats["pivots"] / 10
    cost = cost.copy()
    cost[::500] += 5
    changed = assign.min_cost_flow(tail, head, capacity, cost, supply, start=cold)
    changed.check()
    assert changed.cost == assign.min_cost_flow(tail, head, capacity, cost, supply).cost
    assert changed.stats["pivots"] < cold.stats["pivots"] / 4


def test_bad_starts():
    found = assign.min_cost_flow(*GOOD)
    with pytest.raises(TypeError, match="start must be the result of an earlier min_cost_flow, got tuple"):
        assign.min_cost_flow(*GOOD, start=(found.flow, found.price))
    with pytest.raises(ValueError, match="the 1 arcs and 2 nodes of the network, got 3 and 3; solve without it"):
        assign.min_cost_flow([0], [1], 3, 1, [1, -1], start=found)
    with pytest.raises(ValueError, match="start is used by method 'network_simplex' only, got 'cost_scaling'"):
        assign.min_cost_flow(*GOOD, start=found, method="cost_scaling")


def test_large_numbers_are_exact():
    found = assign.min_cost_flow([0, 0], [1, 1], [2**60, np.iinfo(np.int64).max], [2**58, 3], [2**60, -(2**60)])
    found.check()
    assert found.flow.tolist() == [0, 2**60]
    assert found.cost == 3 * 2**60
    with pytest.raises(ValueError, match="'cost_scaling' needs.*use method 'network_simplex'"):
        assign.min_cost_flow([0], [1], 2**60, 2**58, [2**60, -(2**60)], method="cost_scaling")
    found = assign.min_cost_flow([0], [1], 2**60, -(2**58), [2**60, -(2**60)])
    found.check()
    assert found.cost == -(2**118)


def test_numbers_for_all_arcs_and_empty_networks():
    assert assign.min_cost_flow([0, 1], [1, 2], np.inf, 2, [1, 0, -1]).cost == 4
    for arguments in (([], [], [], [], []), ([], [], 1, 1, [0, 0]), ([0], [0], 7, -1, [0])):
        found = assign.min_cost_flow(*arguments)
        found.check()
        assert found.cost == -7 * len(arguments[0])


GOOD = [[0, 0, 1], [1, 2, 2], [3, 2, 3], [1, 5, 2], [4, 0, -4]]


@pytest.mark.parametrize(
    ("position", "value", "error", "message"),
    [
        (0, [0, 0, 3], ValueError, "nodes from 0 to 2, since supply has 3; got 3"),
        (0, [0, 0], ValueError, "same length, got 2 and 3"),
        (1, [0.5, 1, 2], TypeError, "head must hold integers, got dtype float64"),
        (2, [1.5, 2, 3], TypeError, "capacity must hold integers, or inf for no limit, got 1.5"),
        (2, [1, np.nan, 3], TypeError, "got nan"),
        (2, [-1, 2, 3], ValueError, r"got lower\[0\] = 0 and capacity\[0\] = -1"),
        (2, [2**61, 2**61, 3], ValueError, "sum of capacity exceeds"),
        (2, [1, 2], ValueError, r"a number or have the shape \(3,\), got \(2,\)"),
        (3, [1.0, 5, 2], TypeError, r"cost must hold integers.*np.rint\(1000 \* cost\)"),
        (3, [1, 2**62, 2], ValueError, r"\|cost\| must be at most"),
        (3, np.array([2**63, 0, 0], np.uint64), ValueError, "must fit int64"),
        (4, [4, 0, -3], ValueError, "must sum to 0, got 1"),
        (4, [[4, 0, -4]], ValueError, r"shape \(nodes,\)"),
    ],
)
def test_bad_arguments(position, value, error, message):
    with pytest.raises(error, match=message):
        assign.min_cost_flow(*GOOD[:position], value, *GOOD[position + 1 :])


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("flow", [4, 0, 4], "above its capacity"),
        ("flow", [3, 1, 2], "does not satisfy the supply of node 1"),
        ("flow", [2, 2, 2], "an arc below its capacity has a negative"),
        ("price", [0, 3, 4], "an arc with flow has a positive"),
        ("cost", 13, "not that of the flow"),
    ],
)
def test_corrupted_results_are_rejected(field, value, message):
    found = assign.min_cost_flow(*GOOD)
    wrong = replace(found, **{field: value if field == "cost" else np.array(value)})
    with pytest.raises(assign.CertificateError, match=message):
        wrong.check()


def test_errors_show_why():
    with pytest.raises(assign.InfeasibleFlowError, match=r"\[0\] have a total supply of 6, but at most 5") as caught:
        assign.min_cost_flow(*GOOD[:4], [6, 0, -6])
    with pytest.raises(assign.CertificateError):
        caught.value.check(*GOOD)
    with pytest.raises(assign.UnboundedFlowError, match="unlimited capacity and of cost -1 per unit"):
        assign.min_cost_flow([0, 1], [1, 0], np.inf, [1, -2], [0, 0])
