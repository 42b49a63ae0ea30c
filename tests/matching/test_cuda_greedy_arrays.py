"""Greedy matching of graphs with arrays on a GPU, in numba's simulator and on a GPU: the CPU's matchings."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

import matching
from tests.matching.gpu_arrays import WHERE, check_copies, gpu, library_of, there
from tests.matching.test_cuda_greedy import KINDS, symmetric


def held(matrix):
    """A stand-in for a CSR matrix of another library."""
    arrays = {name: there(getattr(matrix, name)) for name in ("indptr", "indices", "data")}
    return SimpleNamespace(format="csr", shape=matrix.shape, **arrays)


def agree(graph, matrix, **how):
    """The matching computed on the GPU is certified, and equals that of the CPU."""
    found = matching.greedy(graph, device="auto", **how)
    found.check()
    expected = matching.greedy(matrix, method=found.method, **{k: v for k, v in how.items() if k != "method"})
    assert found.device == "cuda"
    assert (found.partner.copy_to_host() == expected.partner).all()
    assert (found.cardinality, found.weight) == (expected.cardinality, expected.weight)
    assert type(found.weight) is type(expected.weight)
    assert (found.pairs.copy_to_host() == expected.pairs).all()
    return found


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("kind", KINDS)
def test_matrices_on_a_gpu(where, kind):
    for seed, n in enumerate((2, 13) if where == "simulator" else (2, 33, 5000)):
        matrix = symmetric(np.random.default_rng(seed), n, 6, kind)
        for how in ({}, {"method": "parallel", "seed": 3, "rounds": 1}):
            agree(held(matrix), matrix, **how)
    assert matching.greedy(held(matrix)).method == "parallel"


@pytest.mark.parametrize("where", WHERE)
def test_lists_and_weights(where):
    matrix = symmetric(np.random.default_rng(4), 12 if where == "simulator" else 3000, 6, "floats")
    plain = (there(matrix.indptr, np.int64), there(matrix.indices, np.int64), matrix.shape)
    agree(plain, matrix.astype(bool), seed=5)
    on_gpu = matching.greedy(plain, weight=there(matrix.data, np.float32))
    on_gpu.check()
    assert on_gpu.weight == matching.greedy(matrix.astype(np.float32), method="parallel").weight
    heavy = matrix.data > 0.5
    on_gpu = matching.greedy(plain, weight=there(heavy))
    on_host = matching.greedy((matrix.indptr, matrix.indices, matrix.shape), weight=heavy, method="parallel")
    assert on_gpu.weight == on_host.weight
    assert on_host.weight == matching.greedy(matrix, weight=heavy.astype(int), method="parallel").weight
    strided = there(np.repeat(matrix.data, 2))[::2]
    assert matching.greedy(plain, weight=strided).weight == matching.greedy(matrix, method="parallel").weight


@pytest.mark.parametrize("where", WHERE)
def test_unsorted_and_duplicate_entries(where):
    """Loops, rows that do not ascend, entries that are stored twice."""
    ptr, adj = [0, 3, 6, 9, 10], [0, 2, 1, 2, 0, 2, 1, 0, 1, 3]
    weight = [9, 4, 5, 3, 5, 3, 3, 4, 3, 1]
    matrix = scipy.sparse.csr_array((weight, adj, ptr), shape=(4, 4))
    agree(held(matrix), matrix)


@pytest.mark.parametrize("where", WHERE)
def test_invalid_input(where):
    ptr, adj = there([0, 1, 2]), there([1, 0])
    graph = (ptr, adj, (2, 2))
    invalid = [
        ((there([0, 1, 1]), there([1]), (2, 2)), None, ValueError, r"only one of \(0, 1\) and \(1, 0\) is stored"),
        ((ptr, there([1, 2]), (2, 2)), None, ValueError, "indices must be 0 to 1, but 1 of them are not"),
        ((ptr, adj, (2, 3)), None, ValueError, r"graph must be square, .* got shape \(2, 3\)"),
        (graph, there([1, 2]), ValueError, "have different weights"),
        (graph, there([-1, -1]), ValueError, "weight holds a negative weight, -1"),
        (graph, there([np.nan, np.nan]), ValueError, "weights that are not finite"),
        (graph, there([2**62, 2**62]), ValueError, "integer weights must be at most"),
        (graph, there([1j, 1j]), TypeError, "weight must hold real numbers, got complex128"),
        (graph, there([1, 2, 3]), ValueError, "weight must have one value per stored entry"),
        (graph, np.ones(2), TypeError, "weight is on the host, but graph is on the GPU"),
    ]
    for given, weight, kind, message in invalid:
        with pytest.raises(kind, match=message):
            matching.greedy(given, weight)
    with pytest.raises(TypeError, match="graph is on the GPU, but device='cpu' was requested"):
        matching.greedy(graph, device="cpu")
    with pytest.raises(RuntimeError, match="method 'sorted' does not run on device='cuda'"):
        matching.greedy(graph, method="sorted")


@gpu
@pytest.mark.parametrize("name", ["torch", "cupy"])
def test_arrays_of_other_libraries(name):
    kind_of_array, to = library_of(name)
    matrix = symmetric(np.random.default_rng(6), 4000, 6, "floats")

    found = matching.greedy((to(matrix.indptr), to(matrix.indices), matrix.shape), to(matrix.data))
    found.check()
    assert isinstance(found.partner, kind_of_array)
    assert isinstance(found.pairs, type(found.partner))
    assert found.weight == matching.greedy(matrix, method="parallel").weight
    if name == "cupy":
        sparse = pytest.importorskip("cupyx.scipy.sparse")
        again = matching.greedy(sparse.csr_matrix(scipy.sparse.csr_matrix(matrix)))
        assert again.weight == found.weight


@pytest.mark.parametrize("where", WHERE)
def test_pickles_and_copies(where):
    graph = held(symmetric(np.random.default_rng(3), 9, 6, "floats"))
    check_copies(matching.greedy(graph, device="auto"), "partner", cardinality=99, weight=-1.0)
    with pytest.raises(TypeError, match="graph is on the GPU"):
        matching.coarsen(graph)
