"""Lock-free cost scaling on threads: what is different from the sequential methods; values are in test_cost_scaling."""

import numpy as np
import pytest

from assign.papers import lock_free
from assign.papers.lock_free import EMPTY, make_queue, put, put_active, take
from assign.papers.scaling.network import load, rows_of_dense
from assign.papers.scaling.refine import MIN_PRICE, empty, saturate
from assign.papers.scaling.scale import new_stats
from gridcut.device import kernel, run_threads
from tests.assign import oracles
from tests.assign.scaling_checks import is_epsilon_optimal, is_flow
from tests.tiers import in_quick_tier


@pytest.mark.parametrize(("threads", "cycle"), [(1, 1), (2, 50), (3, 500_000), (7, 50)])
def test_any_number_of_threads_and_any_cycle(threads, cycle):
    rng = np.random.default_rng(threads)
    for trial, n in enumerate((1, 2, 9, 30)):
        cost = oracles.random_cost(rng, (n, n + 5 * (trial % 2)))
        found = oracles.solve(cost, method="lock_free", device="cpu", threads=threads, cycle=cycle)
        assert found.cost == oracles.best_cost(cost)
        assert found.stats["refines"] > 0
        assert found.stats["threads"] == threads
        assert found.stats["rounds"] >= found.stats["refines"]


def test_what_a_round_leaves_too_low_is_repaired(monkeypatch):
    """A race that the proof rules out: an edge below -eps at the end of a round."""
    cost = np.random.default_rng(4).integers(0, 1000, (20, 20))
    task = load(*rows_of_dense(cost), 20, None, lock_free.RULES, 10)
    network, stats = task.network, new_stats(task, lock_free.COUNTS)
    honest, seen = lock_free.run_round, []

    def spoiled(network, eps, stats, threads, cycle):
        done = honest(network, eps, stats, threads, cycle)
        if not seen:
            network.p[:20] -= np.arange(20) % 3 * 5 * eps
            assert not is_epsilon_optimal(network, -eps, -eps)
        seen.append(threads)
        return done

    monkeypatch.setattr(lock_free, "run_round", spoiled)
    lock_free.refine(network, 100, stats, threads=3)
    assert seen[0] == 3
    assert set(seen[1:]) == {1}
    assert stats["repairs"] >= 1
    assert is_flow(network)
    assert is_epsilon_optimal(network, -100, -100)


def test_prices_below_the_floor_end_in_an_error():
    task = load(*rows_of_dense(np.array([[0, 3], [0, 5]])), 2, None, lock_free.RULES, 10)
    network, stats = task.network, new_stats(task, lock_free.COUNTS)
    empty(network, -10)
    network.p[:] += MIN_PRICE + 5
    with pytest.raises(ValueError, match="left the range of int64"):
        lock_free.run_round(network, 10, stats, 2, 100)
    assert saturate(network, -(2**40)) == 0


@kernel
def swap_places(ring, ends, turns, taken):
    """Take nodes and put them back, many times over."""
    done = 0
    while done < turns:
        node = take(ring, ends)
        if node >= 0:
            taken[node] += 1  # not atomic: the queue must have given the node to this thread alone
            put(ring, ends, node)
            done += 1


@pytest.mark.parametrize("turns", in_quick_tier([1000, 20_000], (1000).__eq__))  # threads that wait use a processor
def test_the_queue_gives_every_node_to_one_thread(turns):
    nodes, threads = 5, 3
    ring, ends = make_queue(nodes)
    e = np.array([1, 0, 1, -1, 2])
    assert put_active(e, ring, ends) == 4
    taken = np.zeros(nodes, np.int64)
    run_threads(lambda i: swap_places(ring, ends, turns, taken), threads)
    assert taken.sum() == threads * turns
    assert (taken[[1, 3]] == 0).all()
    assert sorted(take(ring, ends) for _ in range(3)) == [0, 2, 4]
    assert take(ring, ends) == EMPTY
