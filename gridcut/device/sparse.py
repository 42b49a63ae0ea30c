"""Validation of sparse matrices before any compiled code reads them.

SciPy's constructors of CSR, CSC and BSR accept pointers and indices that are out of range, and SciPy's conversions and
the kernels of this project would follow them; those of other formats check them.  `check_matrix` accepts any SciPy
matrix, `check_compressed` the arrays of one.  Both only read; they take one pass over the pointers and one over the
indices.  `as_scipy` converts arrays of another package.
"""

import sys
from typing import Any

import numpy as np


def is_sparse(value: Any) -> bool:
    """Whether this is a SciPy matrix or array; does not import scipy.sparse, without which there is none."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and module.issparse(value)


def as_scipy(matrix, form: str | None = None):
    """A SciPy matrix, in a given format, of an array of the package "sparse"; other objects are returned unchanged.

    SciPy's own functions convert these arrays, too.
    """
    if type(matrix).__module__.partition(".")[0] != "sparse" or not hasattr(matrix, "to_scipy_sparse"):
        return matrix
    matrix = matrix.to_scipy_sparse()
    return matrix if form is None else matrix.asformat(form)


def check_compressed(
    name: str, indptr: np.ndarray, indices: np.ndarray, shape: tuple[int, int], *, lines: str = "row"
) -> None:
    """Raise unless every pointer and index of a compressed matrix is in range.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    indptr, indices : ndarray of integers, one-dimensional
        Line i has the entries indices[indptr[i] : indptr[i + 1]].  Entries after the last pointer are not examined.
    shape : tuple of int
        Number of lines, and exclusive bound of the indices.
    lines : str
        Name of a line in messages: "row" for CSR, "column" for CSC.

    Raises
    ------
    TypeError
        If an array is not one-dimensional or does not hold integers.
    ValueError
        If a pointer or an index is out of range.
    """
    count, bound = shape
    for part, array in (("indptr", indptr), ("indices", indices)):
        if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in "iu":
            kind = f"{array.dtype}, {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
            raise TypeError(f"{name}: {part} must be a one-dimensional array of integers, got {kind}")
    if len(indptr) != count + 1:
        raise ValueError(
            f"{name}: indptr must have {count + 1} entries, one for each {lines} and one more; got {len(indptr)}"
        )
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"{name}: indptr must ascend from 0; it starts at {indptr[0]}{_first_descent(indptr)}")
    end = int(indptr[-1])
    if end > len(indices):
        raise ValueError(f"{name}: indptr must end at {len(indices)}, the number of indices, or before; got {end}")
    check_range(f"{name}: indices", indices[:end], bound)


def check_range(name: str, indices: np.ndarray, bound: int) -> None:
    """Raise ValueError unless all integers are from 0 to bound - 1; one pass."""
    if not len(indices):
        return
    # A negative integer, reinterpreted as unsigned, exceeds any bound.
    unsigned = indices.view(indices.dtype.str.replace("i", "u"))
    if int(unsigned.max()) >= bound:
        low, high = int(indices.min()), int(indices.max())
        allowed = f"be from 0 to {bound - 1}" if bound else "not exist where a side of the matrix is 0"
        raise ValueError(f"{name} must {allowed}; got {low} to {high}")


def check_matrix(name: str, matrix) -> None:
    """Raise unless a SciPy sparse matrix with two axes is safe to convert; TypeError or ValueError.

    Duplicates, any order of the indices and unused entries after the last pointer are permitted.
    """
    n, m = matrix.shape
    form = matrix.format
    if form in ("csr", "csc", "bsr"):
        rows, cols = matrix.blocksize if form == "bsr" else (1, 1)
        shape, lines = ((m, n), "column") if form == "csc" else ((n // rows, m // cols), "row")
        check_compressed(name, matrix.indptr, matrix.indices, shape, lines=lines)
        if len(matrix.data) < matrix.indptr[-1]:
            raise ValueError(f"{name}: {matrix.indptr[-1]} entries are stored, but only {len(matrix.data)} data")


def _first_descent(indptr) -> str:
    descents = np.flatnonzero(indptr[1:] < indptr[:-1])
    if not len(descents):
        return ""
    at = int(descents[0])
    return f" and falls from {indptr[at]} to {indptr[at + 1]} at entry {at + 1}"
