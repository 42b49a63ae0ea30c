"""Graphs with arrays on a GPU, in numba's simulator and on a GPU: read, validated and matched there."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

import matching
from tests.matching import oracles
from tests.matching.gpu_arrays import WHERE, check_copies, gpu, library_of, there

# The CUDA default and methods of the papers; each takes seconds to compile.
HOW = [{}, {"method": "ms_bfs_graft", "init": "karp_sipser"}, {"method": "g_pr_shr", "relabel": ("fix", 5)}]


def strided(array, rng):
    """The same values with a different stride, on the GPU."""
    if array.size and rng.random() < 0.5:  # numba cannot slice an empty array on a GPU
        return there(np.repeat(array, 2))[::2]
    return there(array)


def certified(graph, size, start=None, **how):
    """A matching computed on the GPU; it has `size` pairs, and is certified on the host."""
    found = matching.maximum(graph, start=start, **how)
    found.check()
    assert found.device == "cuda"
    assert found.cardinality == size
    assert found.stats["initial"] + found.stats["augmentations"] == size
    row_match, col_match = found.row_match.copy_to_host(), found.col_match.copy_to_host()
    assert row_match.dtype == col_match.dtype == np.int32
    assert np.count_nonzero(row_match >= 0) == np.count_nonzero(col_match >= 0) == size
    return found, row_match


def random_matrices(rng, where):
    """Matrices in canonical CSR form, and others: unsorted, and with duplicate entries."""
    largest = 12 if where == "simulator" else 300
    for _ in range(6 if where == "simulator" else 40):
        matrix = scipy.sparse.csr_array(oracles.random_graph(rng, largest))
        if rng.random() < 0.5 and matrix.nnz:
            often = rng.integers(1, 4, matrix.nnz)
            rows = np.repeat(matrix.tocoo().row, often)
            cols = np.repeat(matrix.indices, often)
            order = np.lexsort((rng.random(len(rows)), rows))
            ptr = np.searchsorted(rows, np.arange(matrix.shape[0] + 1))
            matrix = scipy.sparse.csr_array((np.ones(len(rows), np.int8), cols[order], ptr), shape=matrix.shape)
        yield matrix
    yield oracles.pattern([], [], (3, 4))
    yield oracles.pattern([], [], (0, 2))
    yield oracles.pattern([], [], (2, 0))


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("how", HOW, ids=lambda how: how.get("method", "auto"))
def test_arrays_of_any_kind(where, how):
    rng = np.random.default_rng(1)
    for matrix in random_matrices(rng, where):
        size = oracles.best_cardinality(matrix)
        kinds = rng.choice(["int32", "int64", "uint16"], 2)
        arrays = [strided(a.astype(kind), rng) for a, kind in zip((matrix.indptr, matrix.indices), kinds, strict=True)]
        found, row_match = certified((*arrays, matrix.shape), size, **how)
        assert all(hasattr(a, "copy_to_host") for a in (*found.pairs, *found.vertex_cover()))
        rows, cols = (a.copy_to_host() for a in found.pairs)
        assert (row_match[rows] == cols).all()
        assert sum(len(part.copy_to_host()) for part in found.vertex_cover()) == size


@pytest.mark.parametrize("where", WHERE)
def test_prepared_graph_is_reused(where):
    from matching.core.device_graph_cuda import device_graph

    matrix = oracles.uniform(12 if where == "simulator" else 5000, 3, np.random.default_rng(3))
    size = oracles.best_cardinality(matrix)
    graph = matching.bipartite_graph((there(matrix.indptr), there(matrix.indices), matrix.shape))
    assert matching.bipartite_graph(graph) is device_graph(graph) is graph
    first, row_match = certified(graph, size, method="ms_bfs_graft")
    again, same = certified(graph, size, start=first, method="g_pr_shr", init="none")
    assert again.stats["initial"] == size
    assert (same == row_match).all()
    assert graph.host() is graph.host()
    assert matching.structural_rank(graph) == size
    on_host = matching.maximum(matrix, device="cpu", start=first)
    assert on_host.stats["initial"] == size
    with pytest.raises(TypeError, match="graph is on the GPU, but dulmage_mendelsohn runs on the CPU"):
        matching.dulmage_mendelsohn(graph)


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("init", ["karp_sipser", "karp_sipser_one_sided"])
def test_the_cpu_makes_the_initial_matching(where, init):
    """That of a graph on the host, of a start, too; the search then continues on the GPU."""
    rng = np.random.default_rng(5)
    matrix = oracles.uniform(12 if where == "simulator" else 5000, 3, rng)
    size = oracles.best_cardinality(matrix)
    graph = (there(matrix.indptr), there(matrix.indices), matrix.shape)
    full = matching.maximum(matrix, device="cpu").row_match
    for start in (None, np.where(rng.random(len(full)) < 0.3, full, -1)):
        found, row_match = certified(graph, size, start=start, method="ms_bfs_graft", init=init)
        expected = matching.maximum(matrix, method="ms_bfs_graft", init=init, device="cpu", start=start, threads=1)
        assert found.init == init
        assert found.stats["initial"] == expected.stats["initial"]
        assert found.stats["init"]["edges"] == expected.stats["init"]["edges"]
        assert start is None or (row_match[start >= 0] >= 0).all()


@pytest.mark.parametrize("where", WHERE)
def test_starts(where):
    """A Matching, an array on the GPU, one on the host: matched vertices stay matched."""
    rng = np.random.default_rng(4)
    matrix = oracles.uniform(12 if where == "simulator" else 5000, 3, rng)
    size = oracles.best_cardinality(matrix)
    graph = (there(matrix.indptr), there(matrix.indices), matrix.shape)
    full, row_match = certified(graph, size, method="ms_bfs_graft")
    part = np.where(rng.random(len(row_match)) < 0.5, row_match, -1)
    for start in (
        full,
        part,
        part.tolist(),
        there(part, np.int64),
        there(part, np.int16),
        there(np.repeat(part, 2))[::2],
    ):
        found, again = certified(graph, size, start=start, method="ms_bfs_graft", init="none")
        assert found.stats["initial"] == np.count_nonzero((row_match if start is full else part) >= 0)
        assert (again[part >= 0] >= 0).all()
    empty = (there(np.zeros(4, np.int32)), there(np.zeros(0, np.int32)), (3, 2))
    certified(empty, 0, start=[-1, -1, -1])
    wrong = [
        ([0, 1], "start must hold the column of each of the 3 rows, got shape"),
        ([0.0, 1.0, -1.0], "start must hold integers"),
        (there([0, 1, 5]), "start must hold columns in 0 ... 1"),
        ([-2, 1, 0], "start must hold columns in 0 ... 1"),
        ([1, -1, -1], "row 0 is matched along no edge"),
        ([0, -1, 0], "row 0 is matched along no edge, or to a vertex matched otherwise"),
    ]
    small = (there(np.array([0, 1, 2, 4])), there(np.array([0, 1, 0, 1])), (3, 2))
    for start, message in wrong:
        with pytest.raises((TypeError, ValueError), match=message):
            matching.maximum(small, start=start)
    with pytest.raises(ValueError, match="along no edge"):
        matching.maximum(empty, start=[0, -1, -1])


@pytest.mark.parametrize("where", WHERE)
def test_invalid_graphs(where):
    ptr, adj = there([0, 1, 2], np.int64), there([0, 1], np.int64)
    invalid = [
        ((ptr, adj), TypeError, "graph as a tuple must be .* got 2 parts"),
        ((ptr, adj, (3, 2)), ValueError, "indptr must have 4 entries, .* got 3"),
        ((ptr, adj, (2, 1)), ValueError, "indices must be 0 to 0, but 1 of them are not"),
        ((ptr, there([0, -1]), (2, 2)), ValueError, "but 1 of them are not"),
        ((there([1, 1, 2]), adj, (2, 2)), ValueError, "indptr must ascend from 0 to at most 2"),
        ((there([0, 2, 1]), adj, (2, 2)), ValueError, "indptr must ascend"),
        ((there([0, 1, 3]), adj, (2, 2)), ValueError, "indptr must ascend"),
        ((there([0, -5, 2]), adj, (2, 2)), ValueError, "indptr must ascend"),
        ((ptr, there([0.0, 1.0]), (2, 2)), TypeError, "indices must be a one-dimensional array of integers"),
        ((there([[0, 1, 2]]), adj, (2, 2)), TypeError, "indptr must be a one-dimensional array of integers"),
        ((ptr, np.array([0, 1]), (2, 2)), TypeError, "indices is on the host, but the other array of graph is on the"),
        ((ptr, adj, 2), TypeError, "shape must be two integers"),
        (SimpleNamespace(format="bsr", indptr=ptr, indices=adj, shape=(2, 2)), TypeError, "CSR or CSC format, got bsr"),
    ]
    for graph, kind, message in invalid:
        with pytest.raises(kind, match=message):
            matching.maximum(graph)
    graph = (ptr, adj, (2, 2))
    with pytest.raises(TypeError, match="graph is on the GPU, but device='cpu' was requested"):
        matching.maximum(graph, device="cpu")
    with pytest.raises(ValueError, match="device must be 'auto'"):
        matching.maximum(graph, device="gpu")
    with pytest.raises(RuntimeError, match="method 'hopcroft_karp' does not run on device='cuda'"):
        matching.maximum(graph, method="hopcroft_karp")


# On a GPU, with array libraries


@gpu
@pytest.mark.parametrize("name", ["torch", "cupy"])
def test_arrays_of_other_libraries(name):
    kind_of_array, to = library_of(name)
    matrix = oracles.uniform(3000, 3, np.random.default_rng(5))
    size = matching.maximum(matrix, device="cpu").cardinality

    for kind in (np.int32, np.int64):
        graph = (to(matrix.indptr.astype(kind)), to(matrix.indices.astype(kind)), matrix.shape)
        found = matching.maximum(graph)
        found.check()
        assert found.cardinality == size
        assert isinstance(found.row_match, kind_of_array)
        assert isinstance(found.vertex_cover()[0], type(found.row_match))
        assert int((found.row_match >= 0).sum()) == size
        again = matching.maximum(graph, start=found.row_match, method="apfb")
        assert again.stats["initial"] == size
    if name == "cupy":
        sparse = pytest.importorskip("cupyx.scipy.sparse")
        for form in (sparse.csr_matrix, sparse.csc_matrix):
            found = matching.maximum(form(sparse.csr_matrix(scipy.sparse.csr_matrix(matrix.astype(np.float32)))))
            found.check()
            assert found.cardinality == size


@pytest.mark.parametrize("where", WHERE)
def test_pickles_and_copies(where):
    matrix = oracles.random_graph(np.random.default_rng(3), 9)
    found = matching.maximum((there(matrix.indptr), there(matrix.indices), matrix.shape))
    check_copies(found, "row_match", cardinality=99)
