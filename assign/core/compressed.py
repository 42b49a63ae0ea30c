"""Sparse costs in canonical form: ascending columns in each row, each pair stored once.

The caller's arrays are never modified.  SciPy would sort them in place, and sum duplicates in their own dtype, which
may overflow.
"""

import operator
from itertools import chain

import numpy as np
import scipy

from assign.core.arrays import as_array, check_sides, supported, supported_type
from gridcut.device.sparse import check_compressed, check_matrix, is_sparse

TUPLE_HINT = (
    "a tuple of four is read as (indptr, indices, cost, shape); pass a list or an array for a matrix of four rows"
)


def rows_of(cost):
    """indptr (int64), indices (int32), costs and shape of sparse costs; None if `cost` is not sparse."""
    if is_sparse(cost):
        if cost.ndim != 2:
            raise ValueError(f"cost must have 2 axes, got shape {cost.shape}")
        check_sides("cost", cost.shape)
        check_matrix("cost", cost)
        return canonical(*_rows_of_matrix(cost), cost.shape, merge=True)
    # A row of a dense matrix can be mistaken for a shape only if it has two entries.
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


def _rows_of_matrix(matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """CSR arrays of a validated SciPy matrix, in any order and possibly with duplicates."""
    wide = matrix.dtype if matrix.dtype == np.uint64 else supported_type("cost", matrix.dtype)
    if matrix.format == "coo":
        row, col = matrix.coords if hasattr(matrix, "coords") else (matrix.row, matrix.col)
        # A CSR matrix with one entry per row, whose columns are the row indices: transposing it sorts by row.
        entries = len(row)
        ones = scipy.sparse.csr_array(
            (np.ones(entries, np.int8), row, np.arange(entries + 1)), shape=(entries, matrix.shape[0])
        ).tocsc()
        return ones.indptr, col[ones.indices], matrix.data[ones.indices]
    if matrix.format == "lil":  # whose conversion fails for read-only arrays
        indptr = np.append(0, np.cumsum([len(cols) for cols in matrix.rows], dtype=np.int64))
        indices = np.fromiter(chain.from_iterable(matrix.rows), np.int32, indptr[-1])
        return indptr, indices, np.fromiter(chain.from_iterable(matrix.data), matrix.dtype, indptr[-1])
    if matrix.format != "csr":
        matrix = matrix.astype(wide, copy=False).tocsr()
        check_matrix("cost", matrix)
    end = matrix.indptr[-1]
    return matrix.indptr, matrix.indices[:end], matrix.data[:end]


def _rows_of_parts(indptr, indices, values, shape):
    """CSR arrays from a tuple of arrays, in which each pair must be stored once."""
    try:
        n, m = (operator.index(size) for size in shape)
    except (TypeError, ValueError) as error:
        raise TypeError(f"shape must be two integers, got {shape!r}") from error
    if n < 0 or m < 0:
        raise ValueError(f"shape must be two non-negative integers, got {shape!r}")
    check_sides("cost", (n, m))
    indptr, indices, values = (
        as_array(name, part) for name, part in (("indptr", indptr), ("indices", indices), ("cost", values))
    )
    if not indices.size:
        indices = indices.astype(np.int32)  # NumPy converts an empty list to floats
    check_compressed("cost", indptr, indices, (n, m))
    if int(indptr[-1]) != len(indices):
        raise ValueError(f"cost: indptr must end at {len(indices)}, the number of indices; got {indptr[-1]}")
    if values.shape != indices.shape:
        raise ValueError(f"cost must have one entry per index, {len(indices)}, got shape {values.shape}")
    return canonical(indptr, indices, values, (n, m), merge=False)


def canonical(indptr, indices, values, shape, *, merge: bool):
    """Sort each row; sum duplicates if `merge`, else raise ValueError; convert float32 to float64."""
    indptr, indices = indptr.astype(np.int64, copy=False), indices.astype(np.int32, copy=False)
    values = supported("cost", values)
    # A new SciPy matrix around these arrays, because the flags of the caller's matrix may be out of date.
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
                raise ValueError("indices must not contain a column twice in one row")
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
        raise ValueError("cost: the sum of the entries of a pair that is stored more than once does not fit int64")
    return (high << 32) | (low & 0xFFFFFFFF)
