"""The Dulmage-Mendelsohn decomposition: form, coarse parts by definition, fine blocks against SciPy, independence."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

import matching
from gridcut.device import CertificateError
from matching.block_triangular import decompose, dulmage_mendelsohn
from matching.cpu.blocks import HORIZONTAL, SQUARE, VERTICAL
from matching.graph import bipartite_graph


def random_matrix(rng, n, m, edges):
    rows, cols = rng.integers(0, n, edges), rng.integers(0, m, edges)
    return sp.csr_array((np.ones(edges), (rows, cols)), shape=(n, m))


def matrices(count):
    """Square and not, empty rows, components, permuted triangular ones."""
    rng = np.random.default_rng(7)
    for trial in range(count):
        n, m = rng.integers(1, 40, 2)
        kind = trial % 4
        if kind == 0:
            yield random_matrix(rng, n, m, int(rng.integers(0, 3 * max(n, m))))
        elif kind == 1:
            yield random_matrix(rng, n, n, int(rng.integers(n, 4 * n)))
        elif kind == 2:
            triangle = sp.csr_array(np.triu(rng.random((n, n)) < 2 / n) | np.eye(n, dtype=bool))
            yield sp.csr_array(triangle[rng.permutation(n)][:, rng.permutation(n)], dtype=float)
        else:
            blocks = [random_matrix(rng, n, 4, 2 * n), random_matrix(rng, 3, m, 2 * m), sp.eye_array(5)]
            joined = sp.block_diag(blocks, format="csr")
            yield joined[rng.permutation(joined.shape[0])][:, rng.permutation(joined.shape[1])]


def blocks_of(form):
    """Every block as (rows, columns), in no order."""
    rows = np.split(form.row_perm, form.row_start[1:-1])
    cols = np.split(form.col_perm, form.col_start[1:-1])
    return {(frozenset(r.tolist()), frozenset(c.tolist())) for r, c in zip(rows, cols, strict=True)}


def reached(matrix, free, match_of_reached):
    """Vertices of both sides on alternating paths from `free`, as the definition says it, slowly."""
    own, other = set(free), set()
    waiting = list(free)
    while waiting:
        for v in matrix[[waiting.pop()]].indices.tolist():
            if v not in other:
                other.add(v)
                own.add(int(match_of_reached[v]))
                waiting.append(int(match_of_reached[v]))
    return own, other


def test_drawn():
    """Two square blocks, one column too many on the left, one row too many on the right."""
    matrix = np.array(
        [
            [1, 1, 0, 1, 0, 0],
            [0, 0, 1, 1, 0, 1],
            [0, 0, 1, 1, 0, 0],
            [0, 0, 0, 0, 1, 0],
            [0, 0, 0, 0, 0, 1],
            [0, 0, 0, 0, 0, 1],
        ]
    )
    form = dulmage_mendelsohn(sp.csr_array(matrix))
    form.check()
    assert form.parts == (1, 2, 1)
    assert blocks_of(form) == {
        (frozenset([0]), frozenset([0, 1])),
        (frozenset([1, 2]), frozenset([2, 3])),
        (frozenset([3]), frozenset([4])),
        (frozenset([4, 5]), frozenset([5])),
    }
    assert form.structural_rank == 5


def test_form_parts_and_blocks_of_many():
    for matrix in matrices(120):
        form = dulmage_mendelsohn(matrix)
        form.check()
        pattern = sp.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
        permuted = pattern[form.row_perm][:, form.col_perm].tocoo()
        row_of, col_of = (
            np.repeat(np.arange(form.blocks), np.diff(start)) for start in (form.row_start, form.col_start)
        )
        assert np.all(row_of[permuted.row] <= col_of[permuted.col])

        row_match, col_match = form.matching.row_match, form.matching.col_match
        rows, cols = reached(pattern, np.flatnonzero(row_match < 0).tolist(), col_match)
        assert rows == set(np.flatnonzero(form.row_part == VERTICAL))
        assert cols == set(np.flatnonzero(form.col_part == VERTICAL))
        cols, rows = reached(pattern.T.tocsr(), np.flatnonzero(col_match < 0).tolist(), row_match)
        assert rows == set(np.flatnonzero(form.row_part == HORIZONTAL))
        assert cols == set(np.flatnonzero(form.col_part == HORIZONTAL))

        square = np.flatnonzero(form.row_part == SQUARE)
        if len(square):
            directed = pattern[square][:, row_match[square]]
            count, label = connected_components(directed, directed=True, connection="strong")
            assert count == form.parts[1]
            block = np.empty(matrix.shape[0], int)
            block[form.row_perm] = row_of
            assert len(set(zip(label, block[square], strict=True))) == count


def test_blocks_do_not_depend_on_the_matching():
    for matrix in matrices(40):
        rng = np.random.default_rng(matrix.nnz)
        rows, cols = rng.permutation(matrix.shape[0]), rng.permutation(matrix.shape[1])
        form = dulmage_mendelsohn(matrix, method="hopcroft_karp", init="none")
        other = dulmage_mendelsohn(matrix[rows][:, cols], method="ms_bfs_graft", init="cheap")
        renamed = {(frozenset(rows[list(r)].tolist()), frozenset(cols[list(c)].tolist())) for r, c in blocks_of(other)}
        assert renamed == blocks_of(form)
        assert other.parts == form.parts


def test_long_chain_of_blocks_and_long_cycle():
    """Searches as deep as the matrix: nothing may recurse."""
    n = 30_000
    chain = sp.diags_array([np.ones(n), np.ones(n - 1)], offsets=[0, -1], format="csr")
    form = dulmage_mendelsohn(chain)
    form.check()
    assert form.parts == (0, n, 0)
    cycle = sp.lil_array(chain)
    cycle[0, n - 1] = 1
    form = dulmage_mendelsohn(cycle.tocsr())
    form.check()
    assert form.parts == (0, 1, 0)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 3)])
def test_without_edges(shape):
    form = dulmage_mendelsohn(sp.csr_array(shape))
    form.check()
    assert form.parts == (shape[1], 0, shape[0])
    assert form.structural_rank == 0


def test_a_matching_that_is_not_maximum_is_refused():
    graph = bipartite_graph(sp.csr_array([[1, 1], [1, 0]]))
    found = matching.maximum(graph)
    short = dataclasses.replace(
        found, row_match=np.array([0, -1], np.int32), col_match=np.array([0, -1], np.int32), cardinality=1
    )
    with pytest.raises(CertificateError, match="not maximum"):
        decompose(graph, short)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda form: {"row_perm": form.row_perm[::-1]}, "another part|triangle"),
        (lambda form: {"col_perm": np.zeros_like(form.col_perm)}, "not a permutation"),
        (lambda form: {"row_start": form.row_start + 1}, "does not divide"),
        (lambda form: {"parts": form.parts[::-1]}, "shape"),
    ],
)
def test_the_check_sees_what_is_wrong(change, message):
    form = dulmage_mendelsohn(sp.csr_array([[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]]))
    with pytest.raises(CertificateError, match=message):
        dataclasses.replace(form, **change(form)).check()
