"""Sparse costs in one form: columns ascending in each row, every pair once.

What is passed in is only read: SciPy would sort the caller's own arrays in place, and add duplicates up in the dtype
they are stored in, where they may wrap.
"""

import operator
from itertools import chain

import numpy as np
import scipy.sparse

from assign.core.arrays import as_array, check_sides, supported, supported_type
from gridcut.device.sparse import check_compressed, check_matrix

TUPLE_HINT = (
    "a tuple of four is read as (indptr, indices, cost, shape); pass a list or an array for a matrix of four rows"
)


def rows_of(cost):
    """indptr (int64), indices (int32), costs and shape of sparse costs; None for anything else."""
    if scipy.sparse.issparse(cost):
        if cost.ndim != 2:
            raise ValueError(f"cost must have 2 axes, got shape {cost.shape}")
        check_sides("cost", cost.shape)
        check_matrix("cost", cost)
        return canonical(*_rows_of_matrix(cost), cost.shape, merge=True)
    # A row of a dense matrix may be a shape only if it holds two numbers.
    if isinstance(cost, tuple) and len(cost) == 4 and np.ndim(cost[3]) == 1 and (len(cost[3]) == 2 or _is_ragged(cost)):
        try:
            return _rows_of_parts(*cost)
        except (TypeError, ValueError) as error:
            if _is_ragged(cost):
                raise
            raise type(error)(f"{error}; {TUPLE_HINT}") from error
    return None


def _is_ragged(parts) -> bool:
    return len({np.shape(part) for part in parts}) > 1


def _rows_of_matrix(matrix):
    """CSR arrays of a SciPy matrix that has been checked, in any order and perhaps with duplicates."""
    wide = supported_type("cost", matrix.dtype)
    if matrix.format == "coo":
        row, col = matrix.coords if hasattr(matrix, "coords") else (matrix.row, matrix.col)
        # One entry in each row: its columns are the rows wanted, and to sort by them is to transpose.
        entries = len(row)
        ones = scipy.sparse.csr_array(
            (np.ones(entries, np.int8), row, np.arange(entries + 1)), shape=(entries, matrix.shape[0])
        ).tocsc()
        return ones.indptr, col[ones.indices], matrix.data[ones.indices]
    if matrix.format == "lil":  # whose conversion refuses arrays that are read-only
        indptr = np.append(0, np.cumsum([len(cols) for cols in matrix.rows], dtype=np.int64))
        indices = np.fromiter(chain.from_iterable(matrix.rows), np.int32, indptr[-1])
        return indptr, indices, np.fromiter(chain.from_iterable(matrix.data), matrix.dtype, indptr[-1])
    if matrix.format != "csr":
        matrix = matrix.astype(wide, copy=False).tocsr()
        check_matrix("cost", matrix)
    end = matrix.indptr[-1]
    return matrix.indptr, matrix.indices[:end], matrix.data[:end]


def _rows_of_parts(indptr, indices, values, shape):
    """The caller's arrays, in which a pair must not be stored twice."""
    try:
        n, m = (operator.index(size) for size in shape)
    except (TypeError, ValueError) as error:
        raise TypeError(f"shape must be two whole numbers, got {shape!r}") from error
    if n < 0 or m < 0:
        raise ValueError(f"shape must be two numbers that are not negative, got {shape!r}")
    check_sides("cost", (n, m))
    indptr, indices, values = (
        as_array(name, part) for name, part in (("indptr", indptr), ("indices", indices), ("cost", values))
    )
    if not indices.size:
        indices = indices.astype(np.int32)  # of an empty list, which NumPy makes floats
    check_compressed("cost", indptr, indices, (n, m))
    if int(indptr[-1]) != len(indices):
        raise ValueError(f"cost: indptr must end at {len(indices)}, the number of indices; got {indptr[-1]}")
    if values.shape != indices.shape:
        raise ValueError(f"the costs must be as many as indices, {len(indices)}, got shape {values.shape}")
    return canonical(indptr, indices, values, (n, m), merge=False)


def canonical(indptr, indices, values, shape, *, merge: bool):
    """Rows in order, with duplicates added up (merge) or refused; float32 as float64."""
    indptr, indices = indptr.astype(np.int64, copy=False), indices.astype(np.int32, copy=False)
    values = supported("cost", values)
    # A matrix of SciPy's around these arrays is made for its passes over them; its own flags might be out of date.
    if not scipy.sparse.csr_array((values, indices, indptr), shape=shape).has_canonical_format:
        positions = np.arange(len(indices))
        ordered = scipy.sparse.csr_array((positions, indices, indptr), shape=shape, copy=True)
        ordered.sort_indices()
        indptr, indices, values = (
            ordered.indptr.astype(np.int64), ordered.indices.astype(np.int32), values[ordered.data]
        )  # fmt: skip
        first = np.append(True, indices[1:] != indices[:-1])[: len(indices)]
        first[indptr[:-1][np.diff(indptr) > 0]] = True
        if not first.all():
            if not merge:
                raise ValueError("indices must not name a column twice in one row")
            starts = np.flatnonzero(first)
            indptr, indices, values = np.searchsorted(starts, indptr), indices[starts], _sums(values, starts)
    if values.dtype == np.float32:
        values = values.astype(np.float64)
    return indptr, indices, values, shape


def _sums(values, starts):
    """Sums of values[starts[k] : starts[k + 1]], in int64 or float64."""
    if values.dtype.kind == "f":
        return np.add.reduceat(values.astype(np.float64), starts)
    values = values.astype(np.int64)
    low = np.add.reduceat(values & 0xFFFFFFFF, starts)
    high = np.add.reduceat(values >> 32, starts) + (low >> 32)
    if high.min() < -(2**31) or high.max() >= 2**31:
        raise ValueError("cost: the entries of a pair that is stored more than once add up to more than int64 holds")
    return (high << 32) | (low & 0xFFFFFFFF)
