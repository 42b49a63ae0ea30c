"""The cost-scaling methods of the paper: values against SciPy, certificates on all, invariants after every Refine."""

import importlib
import itertools

import numpy as np
import pytest
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

import assign
from assign.cpu.scaling import price_update
from assign.cpu.scaling.arc_fixing import fix_arcs
from assign.cpu.scaling.load import load, rows_of_dense, unload
from assign.cpu.scaling.network import is_epsilon_optimal, is_flow
from assign.cpu.scaling.prices import settle
from assign.cpu.scaling.refine import discharge, empty, saturate
from assign.cpu.scaling.rules import HALVES, UNMODIFIED
from assign.cpu.scaling.scale import new_stats, refinements, warm_epsilon
from assign.infeasible import InfeasibleError

NAMES = ["cost_scaling_v1", "cost_scaling_v2", "cost_scaling", "lock_free"]
SWITCHES = list(itertools.product((False, True), (False, True)))
KINDS = ["few", "wide", "negative", "product", "distance", "constant", "sums"]


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def module(name):
    return importlib.import_module(f"assign.cpu.{name}")


def keywords(price_updates, arc_fixing):
    return {"price_updates": price_updates, "arc_fixing": arc_fixing}


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


def reduced_costs(network, live=True):
    """(c_p, leaves X) of the residual edges, by definition."""
    found = []
    for x in range(len(network.p)):
        end = network.last[x] if live else network.first[x + 1]
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


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (1, 1), (1, 4), (2, 2), (2, 3), (5, 5), (7, 11), (3, 40), (40, 40)])
@pytest.mark.parametrize("kind", KINDS)
def test_values(tools, name, kind, shape):
    rng = np.random.default_rng(len(kind) + 100 * shape[1])
    for cost in (tools.random_cost(rng, shape, kind) for _ in range(3)):
        found = tools.solve(cost, method=name, device="cpu")
        assert found.cost == (tools.best_cost(cost) if cost.size else 0)
        transposed = tools.solve(cost.T, method=name, device="cpu", maximize=True)
        assert transposed.cost == (tools.best_cost(cost, True) if cost.size else 0)


@pytest.mark.parametrize("alpha", [2, 5, 10, 1000])
@pytest.mark.parametrize(("price_updates", "arc_fixing"), SWITCHES)
def test_every_alpha_and_switch(tools, name, alpha, price_updates, arc_fixing):
    rng = np.random.default_rng(alpha)
    for trial in range(14):
        n = int(rng.integers(1, 25))
        cost = tools.random_cost(rng, (n, n + int(rng.integers(0, 2)) * int(rng.integers(0, 10))), KINDS[trial % 7])
        options = {"alpha": alpha, **keywords(price_updates, arc_fixing)}
        if name == "lock_free" and trial % 2:
            options["cycle"] = 5
        found = tools.solve(cost, method=name, device="cpu", **options)
        assert found.cost == tools.best_cost(cost)
        if not price_updates:
            assert found.stats["price_updates"] == 0
        if not arc_fixing:
            assert found.stats["arcs_fixed"] == 0


def test_switches_do_something(name):
    rng = np.random.default_rng(5)
    cost = rng.integers(0, 10**6, (60, 60))
    options = {"cycle": 20} if name == "lock_free" else {}
    on = assign.solve(cost, method=name, device="cpu", **options).stats
    assert on["price_updates"] > 0
    assert on["arcs_fixed"] > 0
    fewer = assign.solve(cost, method=name, device="cpu", alpha=100, **options).stats
    assert fewer["refines"] < on["refines"]


def test_huge_range(tools, name):
    """The largest costs the border lets through, and single huge ones among small ones."""
    rng = np.random.default_rng(1)
    for n in (1, 2, 5, 30):
        most = (2**63 - 1) // (4 * (2 * n + 1) ** 2)
        cost = rng.integers(-most, most, (n, n), endpoint=True)
        cost[0, 0], cost[-1, -1] = most, -most
        found = tools.solve(cost, method=name, device="cpu")
        pairs = zip(found.row.tolist(), found.col.tolist(), strict=True)
        assert sum(int(cost[i, j]) for i, j in pairs) == found.cost
        cost = rng.integers(0, 5, (n, n))
        cost[0] = most
        rest = int(tools.best_cost(cost[1:])) if n > 1 else 0
        assert tools.solve(cost, method=name, device="cpu").cost == rest + most


def test_prices_out_of_range_are_refused(module):
    """Costs whose multiples leave int64, which the border refuses before."""
    cost = np.full((3, 3), 2**59)
    with pytest.raises(ValueError, match="too large for cost scaling, which takes at most"):
        module.solve(cost)


def test_floats(tools, name):
    rng = np.random.default_rng(2)
    for trial in range(40):
        n = int(rng.integers(1, 30))
        cost = rng.random((n, n + int(rng.integers(0, 12))))
        cost = [cost, cost.astype(np.float32), np.exp(30 * cost), -1e-300 * cost, 1e300 * cost - 5e299][trial % 5]
        found = tools.solve(cost, method=name, device="cpu")
        assert found.row_price.dtype == np.float64
        if cost.shape[0] < cost.shape[1]:
            check_signs(found)
        assert np.isclose(found.cost, tools.best_cost(cost), rtol=1e-9, atol=1e-12 * np.abs(cost).max())
        assert 0 < found.stats["unit"] <= float(np.abs(cost).max()) * 2.0**-30


def test_floats_that_are_whole_are_exact(tools, name):
    rng = np.random.default_rng(3)
    cost = rng.integers(-(10**9), 10**9, (25, 30)).astype(np.float64)
    found = tools.solve(cost, method=name, device="cpu")
    assert found.cost == tools.best_cost(cost)
    assert found.stats["unit"] == 1
    assert (found.col_price == np.rint(found.col_price)).all()


def test_unit_is_a_power_of_two_that_costs_are_rounded_to():
    cost = np.array([[0.1, 0.2], [0.3, 0.7]])
    task = load(*rows_of_dense(cost), 2, None, UNMODIFIED, 10)
    unit = new_stats(task)["unit"]
    assert np.frexp(unit)[0] == 0.5
    back = task.network.c[:4] * unit
    assert (np.abs(back - cost.ravel()) <= unit / 2).all()
    assert abs(back - cost.ravel()).max() < 1e-15


def test_forbidden_pairs(tools, name):
    rng = np.random.default_rng(4)
    feasible = 0
    for _ in range(60):
        n = int(rng.integers(1, 9))
        m = n + int(rng.integers(0, 3))
        cost = np.where(rng.random((n, m)) < 0.5, rng.integers(-9, 9, (n, m)), np.inf)
        best = tools.best_cost(cost)
        for given in (cost, tools.sparse_of(np.where(np.isinf(cost), 0, cost).astype(np.int64), np.isfinite(cost))):
            if best is None:
                with pytest.raises(InfeasibleError):
                    assign.solve(given, method=name, device="cpu")
            else:
                assert tools.solve(given, method=name, device="cpu").cost == best
        feasible += best is not None
    assert 10 < feasible < 50


@pytest.mark.parametrize(("price_updates", "arc_fixing"), SWITCHES)
def test_sparse(tools, name, price_updates, arc_fixing):
    rng = np.random.default_rng(6)
    for n, m in [(1, 1), (10, 10), (30, 33), (40, 40), (60, 300)]:
        for most in (3, 10**6):
            allowed = rng.random((n, m)) < 5 / n
            allowed[np.arange(n), rng.permutation(m)[:n]] = True
            graph = tools.sparse_of(rng.integers(1, most, (n, m), endpoint=True), allowed)
            row, col = min_weight_full_bipartite_matching(graph)
            found = tools.solve(graph, method=name, device="cpu", **keywords(price_updates, arc_fixing))
            assert found.cost == graph[row, col].sum()


@pytest.mark.parametrize(("price_updates", "arc_fixing"), SWITCHES)
@pytest.mark.parametrize("sparse", [False, True])
def test_partial(tools, name, sparse, price_updates, arc_fixing):
    rng = np.random.default_rng(7)
    alone = 0
    for trial in range(30):
        n = int(rng.integers(1, 14))
        m = n + int(rng.integers(0, 6))
        cost = tools.random_cost(rng, (n, m), KINDS[trial % 7])
        low, high = int(cost.min()), int(cost.max())
        limit = rng.integers(low - 2, high + 3, n) if trial % 2 else int(rng.integers(low, high + 1))
        allowed = rng.random((n, m)) < 0.6 if sparse else np.ones((n, m), bool)
        given = tools.sparse_of(cost, allowed) if sparse else cost
        found = tools.solve(given, method=name, device="cpu", max_cost=limit, **keywords(price_updates, arc_fixing))
        best = tools.best_partial(np.where(allowed, cost, np.inf), limit)
        assert tools.total_of(found, limit) == best
        alone += n - len(found.row)
    assert alone > 10


def check_signs(found, limit=None):
    """What the certificate asks for up to a tolerance holds exactly."""
    assert (found.col_price <= 0).all()
    assert (found.col_price[np.setdiff1d(np.arange(len(found.col_price)), found.col)] == 0).all()
    if limit is not None:
        assert (found.row_price <= limit).all()
        alone = np.setdiff1d(np.arange(len(limit)), found.row)
        assert (found.row_price[alone] == limit[alone]).all()


def test_partial_floats(tools, name):
    rng = np.random.default_rng(8)
    for _ in range(20):
        n = int(rng.integers(1, 14))
        cost = rng.random((n, n + int(rng.integers(0, 5))))
        limit = rng.random(n)
        found = tools.solve(cost, method=name, device="cpu", max_cost=limit)
        assert np.isclose(tools.total_of(found, limit), tools.best_partial(cost, limit), rtol=1e-12)
        check_signs(found, limit)


def test_rows_with_and_without_limit(module):
    """An infinite limit: that row must be matched."""
    cost = np.array([[5, 9], [1, 7]], np.float64)
    col, u, v, _ = module.solve(cost, limit=np.array([np.inf, 3.0]))
    assert col.tolist() == [0, -1]
    assert u[1] == 3
    assert u[0] + v[0] == 5
    assert (cost - u[:, None] - v >= 0).all()
    with pytest.raises(InfeasibleError):
        module.solve(np.array([[5, np.inf], [1, np.inf]]), limit=np.array([np.inf, np.inf]))


def test_warm_start(tools, name):
    """Any old prices are welcome, and good ones save work."""
    rng = np.random.default_rng(9)
    cost = rng.integers(0, 10**6, (40, 45))
    cold = tools.solve(cost, method=name, device="cpu")
    again = tools.solve(cost, method=name, device="cpu", start=cold)
    assert again.cost == cold.cost
    assert again.stats["refines"] < cold.stats["refines"]
    for u, v in [
        (np.zeros(40), np.zeros(45)),
        (np.zeros(40), rng.integers(-(10**6), 10**6, 45)),
        (np.zeros(40, np.int64), np.full(45, 2**62)),
        (np.zeros(40, np.int64), np.where(rng.random(45) < 0.5, 2**62, -(2**62))),
    ]:
        assert tools.solve(cost, method=name, device="cpu", start=(u, v)).cost == cold.cost
        assert np.isclose(tools.solve(cost / 7, method=name, device="cpu", start=(u, v)).cost, cold.cost / 7)


def test_warm_epsilon_is_that_of_the_greedy_flow():
    cost = np.array([[0, 4], [0, 9]])
    task = load(*rows_of_dense(cost), 2, None, UNMODIFIED, 10)
    assert warm_epsilon(task, (np.zeros(2), np.zeros(2))) == 9 * task.multiplier
    assert warm_epsilon(task, (np.zeros(2), np.array([-3, 0]))) == 6 * task.multiplier
    assert warm_epsilon(task, (np.zeros(2), np.array([-5, 0]))) == 0
    assert warm_epsilon(task, (np.zeros(2), np.array([0, -5]))) == task.largest  # 14: a cold start is better
    assert (task.network.p == 0).all()


@pytest.mark.parametrize("alpha", [1, 0, -3, 2.5, "10"])
def test_bad_alpha(module, alpha):
    with pytest.raises(ValueError, match="alpha must be an integer"):
        module.solve(np.eye(3), alpha=alpha)


def test_callback(module):
    seen = []
    _, _, _, stats = module.solve(np.arange(9).reshape(3, 3) ** 2, callback=seen.append)
    assert [s["refines"] for s in seen] == list(range(1, stats["refines"] + 1))
    assert seen[-1]["pushes"] == stats["pushes"]

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        module.solve(np.arange(9).reshape(3, 3), callback=stop)


@pytest.mark.parametrize(("price_updates", "arc_fixing"), SWITCHES)
@pytest.mark.parametrize("alpha", [2, 10])
def test_invariants_after_every_refine(tools, module, alpha, price_updates, arc_fixing):
    """f is a flow and eps-optimal by the method's own definition; eps ends at 1, the paper's 1 / n."""
    rng = np.random.default_rng(alpha)
    for trial in range(14):
        n = int(rng.integers(1, 16))
        cost = tools.random_cost(rng, (n, n + trial % 3), KINDS[trial % 7])
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


def test_epsilon_optimal_by_both_definitions():
    """One edge with flow, one without."""
    task = load(*rows_of_dense(np.array([[0, 0], [0, 0]])), 2, None, UNMODIFIED, 10)
    network = task.network
    assert is_epsilon_optimal(network, 0, 0)
    network.p[0] = -5
    assert is_epsilon_optimal(network, -5, -5)
    assert not is_epsilon_optimal(network, -4, -5)
    network.u_f[0], network.u_f[network.mate[0]] = 0, 1
    network.p[:] = [7, 0, 0, 0]  # c_p = 7 on the edge with flow, -7 back
    assert is_epsilon_optimal(network, 0, -7)
    assert not is_epsilon_optimal(network, 0, -6)


def test_rules():
    """Halves of eps are compared exactly, odd ones too."""
    assert UNMODIFIED.at(7) == (0, 0, -7, -7)
    assert HALVES.at(8) == (4, -4, 0, -8)
    bar_x, bar_y, low_x, low_y = HALVES.at(7)
    for c_p in range(-9, 10):
        assert (c_p < bar_x) == (c_p < 7 / 2)
        assert (c_p < bar_y) == (c_p < -7 / 2)
    assert (low_x, low_y) == (0, -7)
    assert (UNMODIFIED.losses(10), HALVES.losses(10)) == (20, 10)


@pytest.mark.parametrize("rules", [UNMODIFIED, HALVES])
@pytest.mark.parametrize("budget", [1, 3])
def test_every_operation_keeps_epsilon_optimality(tools, rules, budget):
    """Also price updates between operations, of which a wrong one would be mended by the end."""
    rng = np.random.default_rng(10)
    updates = 0
    for trial in range(20):
        n = int(rng.integers(1, 9))
        cost = tools.random_cost(rng, (n, n + trial % 3), KINDS[trial % 7])
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
                updates += price_update.update_prices(network, rules, eps)
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
def test_price_update_lowers_by_distances(tools, rules):
    """Nodes up to the last active one by their distance, all others by one more than the last."""
    rng = np.random.default_rng(11)
    checked = 0
    for trial in range(30):
        n = int(rng.integers(2, 10))
        cost = tools.random_cost(rng, (n, n + trial % 3), KINDS[trial % 7])
        task = load(*rows_of_dense(cost), cost.shape[1], None, rules, 10)
        network = task.network
        eps = task.largest // int(rng.integers(3, 1000)) + 1
        bounds = rules.at(eps)
        empty(network, bounds[2])
        discharge(network, np.empty(len(network.p), np.int32), *bounds, 2)
        before, label = network.p.copy(), distances(network, rules, eps)
        if price_update.update_prices(network, rules, eps):
            last = label[network.e > 0].max()
            fallen = (before - network.p) / eps
            assert (fallen == np.where(label <= last, label, last + 1)).all()
            checked += 1
        else:
            assert not (network.e > 0).any()
    assert checked > 15


@pytest.mark.parametrize(("which", "low"), [("cost_scaling_v1", None), ("cost_scaling_v2", 0), ("cost_scaling", -1)])
def test_how_refine_starts(tools, monkeypatch, which, low):
    """Algorithm 5.0 keeps its flow and is 0-optimal; 5.1 and 5.2 have none, and lowest edges at 0 and at -eps."""
    module = importlib.import_module(f"assign.cpu.{which}")
    rng = np.random.default_rng(15)
    task = load(*rows_of_dense(tools.random_cost(rng, (12, 15), "wide")), 15, None, module.RULES, 10)
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


def test_saturate_makes_zero_optimal(tools):
    """Edges in both directions: flow that is too dear goes back."""
    rng = np.random.default_rng(12)
    task = load(*rows_of_dense(rng.integers(-9, 9, (6, 8))), 8, None, UNMODIFIED, 10)
    network = task.network
    for _ in range(5):
        network.p[:] = rng.integers(-100, 100, len(network.p))
        low = sum(c_p < 0 for c_p, _ in reduced_costs(network))
        assert saturate(network, 0) == low
        assert is_epsilon_optimal(network, 0, 0)
        assert (excess_of(network) == network.e).all()
        assert low > 0


def test_fixed_arcs_are_never_used(tools, module):
    """No optimal assignment uses a pair whose edge was fixed; prices of the others cannot tell."""
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


def test_settle_repairs_any_prices():
    """Prices far off still end as a proof; the bound on falls is for prices of cost scaling only."""
    rng = np.random.default_rng(14)
    cost = rng.integers(0, 100, (7, 9))
    task = load(*rows_of_dense(cost), 9, None, UNMODIFIED, 10)
    for _ in refinements(task, importlib.import_module("assign.cpu.cost_scaling").refine, UNMODIFIED, task.largest,
                         new_stats(task), alpha=10):  # fmt: skip
        pass
    network = task.network
    price = rng.integers(-1000, 1000, len(network.p)) * task.multiplier
    nodes = len(price)
    settle(network, price, np.empty(nodes, np.int32), np.empty(nodes, np.bool_))
    network.p[:] = price
    assert all(c_p >= 0 for c_p, _ in reduced_costs(network, live=False))
    nodes = np.repeat(np.arange(nodes), np.diff(network.first))
    full = (network.u_f == 0) & (nodes < network.x_nodes)
    c_p = network.c + network.p[nodes] - network.p[network.head]
    assert full.sum() == 9
    assert (c_p[full] == 0).all()
