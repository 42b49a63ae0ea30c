"""Greedy matchings of general graphs: certified, compared with networkx, and independent of the number of threads."""

import math

import numpy as np
import pytest
import scipy.sparse

from matching.general import locally_dominant, parallel, plain_parallel
from matching.general.colour import colour_sum, colour_sums
from matching.general.greedy_matching import greedy
from tests.matching.oracles import KINDS, adversarial, random_weighted, weighted_graph, weighted_path


@pytest.mark.parametrize("rounds", [0, 1, 6])
@pytest.mark.parametrize("threads", [1, 3])
def test_locally_dominant_is_the_sorted_matching(monkeypatch, rounds, threads):
    monkeypatch.setattr(locally_dominant, "MAX_ROUNDS", rounds)
    monkeypatch.setattr(locally_dominant, "PARALLEL_MIN_VERTICES", 1)
    rng = np.random.default_rng(7)
    graphs = [random_weighted(rng, int(rng.integers(1, 60)), rng.random(), kind) for kind in KINDS for _ in range(15)]
    for graph in [*graphs, *adversarial().values()]:
        expected = greedy(graph, method="sorted")
        found = greedy(graph, method="locally_dominant", threads=threads)
        assert found.weight == expected.weight
        np.testing.assert_array_equal(found.partner, expected.partner)


def test_heaps_are_used_and_correct():
    """A hub whose neighbours are matched one after another."""
    k = 300
    hub, near, far = 0, np.arange(1, k + 1), np.arange(k + 1, 2 * k + 1)
    # Along a path near[0], far[0], near[1], far[1] ... weights rise, so it is taken from its end; the hub, which the
    # walk comes to first, prefers the near ones in the order in which they are matched.
    spine = np.column_stack([near, far]).ravel()
    graph = weighted_graph(
        2 * k + 1,
        np.r_[np.full(k, hub), spine[:-1]],
        np.r_[near, spine[1:]],
        np.r_[np.arange(9 * k, 10 * k), np.arange(20 * k, 22 * k - 1)],
    )
    found = greedy(graph)
    found.check()
    assert found.stats["heaps"] > 0
    assert found.stats["edges"] < 30 * k
    rng = np.random.default_rng(0)
    for _ in range(10):
        order = np.r_[0, 1 + rng.permutation(2 * k)]
        shuffled = scipy.sparse.csr_array(graph[order][:, order])
        found = greedy(shuffled)
        assert found.stats["heaps"] > 0
        np.testing.assert_array_equal(found.partner, greedy(shuffled, method="sorted").partner)


def test_long_rising_path_takes_linear_time():
    n = 200_000
    found = greedy(weighted_path(np.arange(1, n)))
    found.check()
    assert found.cardinality == n // 2
    assert found.stats["edges"] < 20 * n


@pytest.mark.parametrize("select", ["first", "heaviest", "random"])
def test_parallel_does_not_depend_on_threads(monkeypatch, select):
    rng = np.random.default_rng(2)
    graph = random_weighted(rng, 400, 0.02)
    expected = greedy(graph, method="parallel", seed=9, threads=1, select=select).partner
    monkeypatch.setattr(parallel, "PARALLEL_MIN_VERTICES", 1)
    for threads in (1, 2, 3, 8):
        for _ in range(5):
            found = greedy(graph, method="parallel", seed=9, threads=threads, select=select)
            np.testing.assert_array_equal(found.partner, expected)
    found.check()


@pytest.mark.parametrize("method", ["random", "weighted", "parallel"])
def test_results_depend_on_the_seed_only(method):
    graph = random_weighted(np.random.default_rng(4), 200, 0.05, "equal")
    results = [greedy(graph, method=method, seed=seed).partner.tolist() for seed in (1, 1, 2, 2**64 - 1)]
    assert results[0] == results[1]
    assert len({tuple(result) for result in results}) == 3


@pytest.mark.parametrize("method", ["random", "weighted"])
def test_vertices_are_visited_in_index_order_on_request(method):
    """Each takes its first unmatched neighbour, or the heaviest."""
    graph = random_weighted(np.random.default_rng(8), 60, 0.1)
    partner = [-1] * 60
    for v in range(60):
        part = slice(graph.indptr[v], graph.indptr[v + 1])
        left = [(u, w) for u, w in zip(graph.indices[part], graph.data[part], strict=True) if partner[u] < 0]
        if left and partner[v] < 0:
            u = left[0][0] if method == "random" else max(left, key=lambda pair: pair[1])[0]
            partner[u], partner[v] = v, int(u)
    assert greedy(graph, method=method, shuffled=False).partner.tolist() == partner


def colour_sum_of_the_paper(v, r):
    """Algorithm 4, line by line, in Python's integers."""
    h = [0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476]
    a0, a1, a2, a3 = h
    for i in range(16):
        a4 = (a1 & a2) | (~a1 & a3 & 0xFFFFFFFF)
        a5, a3, a2 = a3, a2, a1
        x = (a0 + a4 + math.floor(2**32 * abs(math.sin(i + 1))) + v) % 2**32
        shift = (7, 12, 17, 22)[i % 4]
        a1 = (a1 + (x << shift | x >> (32 - shift))) % 2**32
        a0 = a5
        h = [(x + y) % 2**32 for x, y in zip(h, (a0, a1, a2, a3), strict=True)]
        v = r * v % 2**32
    return sum(h) % 2**32


def test_colours_are_those_of_the_shortened_md5():
    rng = np.random.default_rng(0)
    for v, r in rng.integers(1, 2**32, (200, 2)):
        assert int(colour_sum(np.uint32(v), np.uint32(r))) == colour_sum_of_the_paper(int(v), int(r))
    for count in (1, 5, 64):
        vertices, sums = rng.integers(0, 2**31 - 1, count, np.int32), np.empty(64, np.uint32)
        colour_sums(vertices, np.uint32(99991), sums, np.empty((5, 64), np.uint32))
        assert sums[:count].tolist() == [colour_sum_of_the_paper(int(v) + 1, 99991) for v in vertices]
    share = np.mean([int(colour_sum(np.uint32(v), np.uint32(77777))) < 0.53406 * 2**32 for v in range(1, 20_001)])
    assert share == pytest.approx(0.53406, abs=0.02)


@pytest.mark.parametrize("select", ["first", "heaviest", "random"])
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_plain_version_finds_the_same_partners(device, select):
    rng = np.random.default_rng(602)
    for seed, (n, degree) in enumerate([(1, 1), (2, 2), (40, 1), (60, 4), (80, 30)]):
        upper = scipy.sparse.triu(scipy.sparse.random_array((n, n), density=min(1, degree / n), rng=rng), 1)
        graph = scipy.sparse.csr_array(upper + upper.T)
        found = greedy(graph, method="parallel", seed=seed, select=select, device=device)
        found.check()
        weight = graph.data if select == "heaviest" else None
        plain = plain_parallel.match(graph.indptr, graph.indices, weight, seed=seed, select=select)
        assert plain == list(found.partner)
        if device == "cpu":
            assert sum(found.stats["matched"]) == 2 * found.cardinality
