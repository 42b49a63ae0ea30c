"""The validation of sparse matrices: everything SciPy accepts and compiled code could not survive is refused."""

import numpy as np
import pytest
import scipy.sparse

from gridcut.device.sparse import check_compressed, check_matrix


def in_format(dense, form):
    if form == "bsr" and dense.size:
        return scipy.sparse.bsr_array(dense, blocksize=(2, 2))
    return scipy.sparse.csr_array(dense).asformat(form)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64, ">i4"])
def test_unsorted_repeated_and_unused_entries_are_accepted(dtype):
    check_compressed("graph", np.array([0, 2, 4], dtype), np.array([1, 0, 2, 2, 99], dtype), (2, 3))


@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        ([0, 1, 2], [0, 99], "graph: indices must be from 0 to 2; got 0 to 99"),
        ([0, 1, 2], [0, 3], "indices must be from 0 to 2; got 0 to 3"),
        ([0, 1, 2], [-1, 0], "indices must be from 0 to 2; got -1 to 0"),
        ([0, 3, 1], [0, 0, 0], "indptr must ascend from 0; it starts at 0 and falls from 3 to 1 at entry 2"),
        ([0, 1000000, 2], [0, 0, 0], "falls from 1000000 to 2"),
        ([1, 1, 2], [0, 0], "it starts at 1"),
        ([0, -1, 2], [0, 0], "falls from 0 to -1"),
        ([0, 1, 3], [0, 0], "indptr must end at 2, the number of indices, or before; got 3"),
        ([0, 1], [0], "indptr must have 3 entries, one for each row and one more; got 2"),
        ([], [], "indptr must have 3 entries"),
    ],
)
def test_arrays_out_of_range_are_refused(indptr, indices, message):
    with pytest.raises(ValueError, match=message):
        check_compressed("graph", np.array(indptr, np.int32), np.array(indices, np.int32), (2, 3))


def test_arrays_of_the_wrong_kind_are_refused():
    good = np.array([0, 1])
    for indptr, indices, part in (
        (good * 1.0, good, "indptr"),
        (good, good[None], "indices"),
        ([0, 1], good, "indptr"),
    ):
        with pytest.raises(TypeError, match=f"graph: {part} must be a one-dimensional array of integers"):
            check_compressed("graph", indptr, indices, (1, 3))


def test_a_side_of_zero_has_no_indices():
    with pytest.raises(ValueError, match="side of the matrix is 0"):
        check_compressed("graph", np.array([0, 1]), np.array([0]), (1, 0))
    check_compressed("graph", np.array([0, 0]), np.array([], np.int64), (1, 0))


def damaged(form):
    """A matrix whose arrays were changed after construction, which nothing in SciPy examines again."""
    dense = np.arange(1, 17).reshape(4, 4)
    matrix = in_format(dense, form)
    matrix.indices[-1] = 2 if form == "bsr" else 4
    return matrix


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
def test_matrices_that_were_damaged_are_refused(form):
    with pytest.raises(ValueError, match="graph: indices must be from 0 to"):
        check_matrix("graph", damaged(form))


def test_data_that_are_missing_are_refused():
    matrix = scipy.sparse.csr_array(np.eye(3))
    matrix.data = matrix.data[:2]
    with pytest.raises(ValueError, match="3 entries are stored, but only 2 data"):
        check_matrix("graph", matrix)
