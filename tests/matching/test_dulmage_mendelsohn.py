"""The Dulmage-Mendelsohn decomposition: form, coarse parts by definition, fine blocks by SciPy, uniqueness."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

import matching
from gridcut.device import CertificateError
from matching.core.graph_input import bipartite_graph
from matching.decomposition.block_triangular import BlockTriangular, dulmage_mendelsohn
from matching.decomposition.fine_blocks import SQUARE


def random_matrix(rng, n, m, edges):
    rows, cols = rng.integers(0, n, edges), rng.integers(0, m, edges)
    return sp.csr_array((np.ones(edges), (rows, cols)), shape=(n, m))


def matrices(count):
    """Square and rectangular matrices, empty rows, components, permuted triangular ones."""
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


def test_form_parts_and_blocks():
    for matrix in matrices(120):
        form = dulmage_mendelsohn(matrix)
        form.check()
        pattern = sp.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
        permuted = pattern[form.row_perm][:, form.col_perm].tocoo()
        row_of, col_of = (
            np.repeat(np.arange(form.blocks), np.diff(start)) for start in (form.row_start, form.col_start)
        )
        assert np.all(row_of[permuted.row] <= col_of[permuted.col])

        row_match = form.matching.row_match
        square = np.flatnonzero(form.row_part == SQUARE)
        if len(square):
            directed = pattern[square][:, row_match[square]]
            count, label = connected_components(directed, directed=True, connection="strong")
            assert count == form.parts[1]
            block = np.empty(matrix.shape[0], int)
            block[form.row_perm] = row_of
            assert len(set(zip(label, block[square], strict=True))) == count


def test_long_chain_of_blocks_and_long_cycle():
    """Searches as deep as the matrix: no search may recurse."""
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


def form_of(matrix, parts, row_start, col_start, row_perm=None, col_perm=None):
    """A form with these blocks, and a matching on their main diagonals; its parts are those of the blocks."""
    graph = bipartite_graph(sp.csr_array(matrix))
    n, m = graph.shape
    row_perm = np.arange(n, dtype=np.int32) if row_perm is None else np.array(row_perm, np.int32)
    col_perm = np.arange(m, dtype=np.int32) if col_perm is None else np.array(col_perm, np.int32)
    row_start, col_start = np.array(row_start), np.array(col_start)
    row_match, col_match = np.full(n, -1, np.int32), np.full(m, -1, np.int32)
    for k in range(len(row_start) - 1):
        pairs = zip(row_perm[row_start[k] : row_start[k + 1]], col_perm[col_start[k] : col_start[k + 1]], strict=False)
        for r, c in pairs:
            row_match[r], col_match[c] = c, r
    part = np.repeat(np.arange(3, dtype=np.int8), parts)
    row_part, col_part = np.empty(n, np.int8), np.empty(m, np.int8)
    row_part[row_perm] = np.repeat(part, np.diff(row_start))
    col_part[col_perm] = np.repeat(part, np.diff(col_start))
    size = int(np.count_nonzero(row_match >= 0))
    found = dataclasses.replace(matching.maximum(graph), row_match=row_match, col_match=col_match, cardinality=size)
    found.check()
    return BlockTriangular(row_perm, col_perm, row_start, col_start, parts, row_part, col_part, found, graph)


@pytest.mark.parametrize(
    ("matrix", "right", "merged", "message"),
    [
        # Row 1 and column 2 are square, but are in one horizontal block with the rest.
        (
            [[1, 1, 0], [0, 0, 1]],
            ((1, 1, 0), [0, 1, 2], [0, 2, 3]),
            ((1, 0, 0), [0, 2], [0, 3], None, [0, 2, 1]),
            r"row_part\[1\] is 0, but alternating paths give 1",
        ),
        # The same transposed: row 2 and column 1 are square.
        (
            [[0, 1], [1, 0], [1, 0]],
            ((0, 1, 1), [0, 1, 3], [0, 1, 2], [0, 1, 2], [1, 0]),
            ((0, 0, 1), [0, 3], [0, 2], [0, 1, 2], [1, 0]),
            r"row_part\[0\] is 2, but alternating paths give 1",
        ),
        # A connected block with a square part: all vertices are reachable from column 2, but not column 2 from 0 and 1.
        (
            [[1, 1, 1], [0, 0, 1]],
            ((1, 1, 0), [0, 1, 2], [0, 2, 3]),
            ((1, 0, 0), [0, 2], [0, 3], None, [0, 2, 1]),
            "but alternating paths give 1",
        ),
        # Two horizontal blocks as one.
        (
            [[1, 1, 0, 0], [0, 0, 1, 1]],
            ((2, 0, 0), [0, 1, 2], [0, 2, 4]),
            ((1, 0, 0), [0, 2], [0, 4], None, [0, 2, 1, 3]),
            "block 0 is not connected",
        ),
        # Two vertical blocks as one.
        (
            [[1, 0], [1, 0], [0, 1], [0, 1]],
            ((0, 0, 2), [0, 2, 4], [0, 1, 2]),
            ((0, 0, 1), [0, 4], [0, 2], [0, 2, 1, 3], None),
            "block 0 is not connected",
        ),
        # Columns without entries as one block.
        (
            np.zeros((0, 2)),
            ((2, 0, 0), [0, 0, 0], [0, 1, 2]),
            ((1, 0, 0), [0, 0], [0, 2]),
            "block 0 is not connected",
        ),
        # Square blocks that a triangle and an identity split.
        (
            [[1, 1], [0, 1]],
            ((0, 2, 0), [0, 1, 2], [0, 1, 2]),
            ((0, 1, 0), [0, 2], [0, 2]),
            "square block 0 can be split",
        ),
        (
            [[1, 0], [1, 1]],
            ((0, 2, 0), [0, 1, 2], [0, 1, 2], [1, 0], [1, 0]),
            ((0, 1, 0), [0, 2], [0, 2]),
            "square block 0 can be split",
        ),
    ],
)
def test_check_rejects_merged_blocks(matrix, right, merged, message):
    """A valid form, and one that is consistent but not the decomposition."""
    form_of(matrix, *right).check()
    with pytest.raises(CertificateError, match=message):
        form_of(matrix, *merged).check()
