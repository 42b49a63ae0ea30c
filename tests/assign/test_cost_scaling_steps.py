"""The steps of the cost-scaling methods: what must hold after every Refine, and inside one."""

import importlib
import itertools

import numpy as np
import pytest

from assign.papers.scaling import refine as steps
from assign.papers.scaling.network import load, rows_of_dense, unload
from assign.papers.scaling.refine import HALVES, UNMODIFIED, discharge, empty, fix_arcs
from assign.papers.scaling.scale import new_stats, refinements
from tests.assign import oracles
from tests.assign.scaling_checks import is_epsilon_optimal, is_flow

SWITCHES = list(itertools.product((False, True), (False, True)))
KINDS = ["few", "wide", "negative", "product", "distance", "constant", "sums"]


@pytest.fixture(params=oracles.SCALING)
def module(request):
    return importlib.import_module(f"assign.papers.{request.param}")


def excess_of(network):
    """d(x) less what leaves x, from the flow alone; the flow of an edge from X is 1 - u_f."""
    e = network.d.copy()
    for x in range(network.x_nodes):
        for a in range(network.first[x], network.first[x + 1]):
            flow = 1 - network.u_f[a]
            assert flow in (0, 1)
            assert network.u_f[network.mate[a]] == flow
            e[x] -= flow
            e[network.head[a]] += flow
    return e


def reduced_costs(network, listed=True):
    """(c_p, leaves X) of the residual edges, by definition."""
    found = []
    for x in range(len(network.p)):
        end = network.last[x] if listed else network.first[x + 1]
        for a in range(network.first[x], end):
            if network.u_f[a] == 1:
                found.append((network.c[a] + network.p[x] - network.p[network.head[a]], x < network.x_nodes))
    return found


def check_network(network):
    """What network.py says of its arrays."""
    nodes = np.repeat(np.arange(len(network.p)), np.diff(network.first))
    edges = np.arange(len(network.head))
    assert (network.mate[network.mate] == edges).all()
    assert (network.head[network.mate] == nodes).all()
    assert (network.c[network.mate] == -network.c).all()
    assert network.d.sum() == 0
    alive = edges < network.last[nodes]
    assert (alive == alive[network.mate]).all()
    from_x = nodes < network.x_nodes
    assert (network.u_f[~alive & from_x] == 1).all()
    assert (network.u_f[~alive & ~from_x] == 0).all()


@pytest.mark.parametrize(("price_updates", "arc_fixing"), SWITCHES)
@pytest.mark.parametrize("alpha", [2, 10])
def test_invariants_after_every_refine(module, alpha, price_updates, arc_fixing):
    """f is a flow and eps-optimal by the method's own definition; eps ends at 1, the paper's 1 / n."""
    rng = np.random.default_rng(alpha)
    for trial in range(8):
        n = int(rng.integers(1, 16))
        cost = oracles.random_cost(rng, (n, n + trial % 3), KINDS[trial % 7])
        limit = rng.integers(-3, 50, n) if trial % 4 == 3 else None
        task = load(*rows_of_dense(cost), cost.shape[1], limit, module.RULES, alpha)
        network = task.network
        check_network(network)
        stats, before = new_stats(task, getattr(module, "COUNTS", ())), task.largest
        after = refinements(
            task,
            lambda f, eps, stats: module.refine(f, eps, stats, price_updates),
            module.RULES,
            task.largest,
            stats,
            alpha=alpha,
            fix=fix_arcs if arc_fixing else None,
        )
        for eps in after:
            assert eps == max(1, before // alpha)
            before = eps
            check_network(network)
            assert is_flow(network)
            assert (excess_of(network) == 0).all()
            low_x, low_y = (low * eps for low in module.RULES.low)
            assert is_epsilon_optimal(network, low_x, low_y)
            assert all(c_p >= (low_x if of_x else low_y) for c_p, of_x in reduced_costs(network))
        assert eps == 1
        col, u, v = unload(task)
        assert all(c_p >= module.RULES.low[0] for c_p, of_x in reduced_costs(network) if of_x)
        assert (cost - u[:, None] - v >= 0).all()
        assert col.dtype == np.int32
        total = oracles.best_cost(cost) if limit is None else oracles.best_partial(cost, limit)
        row = np.flatnonzero(col >= 0)
        assert cost[row, col[row]].sum() + (0 if limit is None else limit[col < 0].sum()) == total
        assert price_updates or not stats["price_updates"]
        assert arc_fixing or not stats["arcs_fixed"]


@pytest.mark.parametrize("rules", [UNMODIFIED, HALVES])
@pytest.mark.parametrize("budget", [1, 3])
def test_every_operation_keeps_epsilon_optimality(rules, budget):
    """Also price updates between operations: the final result would not show a wrong one, as later steps correct it."""
    rng = np.random.default_rng(10)
    updates = 0
    for trial in range(20):
        n = int(rng.integers(1, 9))
        cost = oracles.random_cost(rng, (n, n + trial % 3), KINDS[trial % 7])
        task = load(*rows_of_dense(cost), cost.shape[1], None, rules, 10)
        network = task.network
        queue = np.empty(len(network.p), np.int32)
        for eps in (task.largest // 7 + 1, task.largest // 100 + 1, 1):
            bounds = rules.at(eps)
            empty(network, bounds[2])
            assert is_epsilon_optimal(network, *bounds[2:])
            while True:
                before = network.p.copy()
                active, _, relabels = discharge(network, queue, *bounds, budget)
                assert relabels <= budget + len(network.p)
                assert (network.p <= before).all()
                assert (excess_of(network) == network.e).all()
                assert is_epsilon_optimal(network, *bounds[2:])
                if not active:
                    break
                lacking = network.e < 0
                before = network.p.copy()
                updates += steps.update_prices(network, rules, eps)
                assert is_epsilon_optimal(network, *bounds[2:])
                assert (network.p <= before).all()
                assert (network.p == before)[lacking].all()
    assert updates > 20


def distances(network, rules, eps):
    """Labels of algorithm 5.3 by Bellman's method: shortest paths to nodes of negative excess."""
    nodes = np.repeat(np.arange(len(network.p)), np.diff(network.first))
    label = np.where(network.e < 0, 0.0, np.inf)
    for _ in range(len(network.p)):
        for a in np.flatnonzero(network.u_f == 1):
            y, x = nodes[a], network.head[a]
            low = rules.low[0 if y < network.x_nodes else 1]
            c_p = network.c[a] + network.p[y] - network.p[x]
            label[y] = min(label[y], label[x] + c_p // eps - low)
    return label


@pytest.mark.parametrize("rules", [UNMODIFIED, HALVES])
def test_price_update_lowers_by_distances(rules):
    """Nodes up to the last active one by their distance, all others by one more than the last."""
    rng = np.random.default_rng(11)
    checked = 0
    for trial in range(30):
        n = int(rng.integers(2, 10))
        cost = oracles.random_cost(rng, (n, n + trial % 3), KINDS[trial % 7])
        task = load(*rows_of_dense(cost), cost.shape[1], None, rules, 10)
        network = task.network
        eps = task.largest // int(rng.integers(3, 1000)) + 1
        bounds = rules.at(eps)
        empty(network, bounds[2])
        discharge(network, np.empty(len(network.p), np.int32), *bounds, 2)
        before, label = network.p.copy(), distances(network, rules, eps)
        if steps.update_prices(network, rules, eps):
            last = label[network.e > 0].max()
            fallen = (before - network.p) / eps
            assert (fallen == np.where(label <= last, label, last + 1)).all()
            checked += 1
        else:
            assert not (network.e > 0).any()
    assert checked > 15


@pytest.mark.parametrize(("which", "low"), [("cost_scaling_v1", None), ("cost_scaling_v2", 0), ("cost_scaling", -1)])
def test_how_refine_starts(monkeypatch, which, low):
    """Algorithm 5.0 keeps its flow and is 0-optimal; 5.1 and 5.2 have none, and lowest edges at 0 and at -eps."""
    module = importlib.import_module(f"assign.papers.{which}")
    rng = np.random.default_rng(15)
    task = load(*rows_of_dense(oracles.random_cost(rng, (12, 15), "wide")), 15, None, module.RULES, 10)
    honest, flows = module.until_flow, []

    def watched(network, rules, eps, stats, price_updates):
        flows.append(int((network.u_f[: network.first[network.x_nodes]] == 0).sum()))
        if low is None:
            assert is_epsilon_optimal(network, 0, 0)
        else:
            least = [min(c_p for c_p, _ in reduced_costs_of(network, x)) for x in range(network.x_nodes)]
            assert set(least) == {low * eps}
        honest(network, rules, eps, stats, price_updates)

    monkeypatch.setattr(module, "until_flow", watched)
    for _ in refinements(task, module.refine, module.RULES, task.largest, new_stats(task), alpha=10):
        pass
    assert len(flows) > 5
    assert any(flows) == (low is None)


def reduced_costs_of(network, x):
    edges = range(network.first[x], network.last[x])
    return [(network.c[a] + network.p[x] - network.p[network.head[a]], a) for a in edges if network.u_f[a] == 1]


def test_fixed_arcs_are_never_used(module):
    """No optimal assignment uses a pair whose edge was fixed; prices of other pairs do not show this."""
    rng = np.random.default_rng(13)
    fixed = 0
    for _ in range(20):
        n = int(rng.integers(2, 6))
        cost = rng.integers(0, 1000, (n, n))
        task = load(*rows_of_dense(cost), n, None, module.RULES, 10)
        network = task.network
        sums = {p: cost[np.arange(n), p].sum() for p in itertools.permutations(range(n))}
        best = {p for p in sums if sums[p] == min(sums.values())}
        used = {(i, j) for p in best for i, j in enumerate(p)}
        stats = new_stats(task, getattr(module, "COUNTS", ()))
        loop = refinements(task, module.refine, module.RULES, task.largest, stats, alpha=10, fix=fix_arcs)
        for _ in loop:
            for x in range(n):
                out = network.head[network.last[x] : network.first[x + 1]] - n
                assert used.isdisjoint((x, int(y)) for y in out)
                fixed += len(out)
    assert fixed > 50


def test_fix_arcs_takes_exactly_the_edges_above_the_threshold():
    cost = np.array([[0, 5, 9], [5, 0, 6], [9, 9, 0]])
    task = load(*rows_of_dense(cost), 3, None, UNMODIFIED, 10)
    network = task.network
    unit = task.multiplier
    assert fix_arcs(network, 9 * unit) == 0
    assert fix_arcs(network, 6 * unit) == 3
    check_network(network)
    assert (network.last - network.first[:-1]).tolist() == [2, 3, 1, 2, 2, 2]
    assert sorted(network.head[: network.last[0]].tolist()) == [3, 4]
    assert fix_arcs(network, 6 * unit) == 0
