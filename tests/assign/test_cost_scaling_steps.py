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
