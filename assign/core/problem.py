"""Input validation of assign: the arguments of `assign.solve`, checked once and brought to one form.

A Problem has no more rows than columns (otherwise the matrix is transposed) and is minimised (otherwise the costs are
negated).  It is dense, or sparse with the allowed pairs only.  The solvers do not check anything again.
"""

import operator
from typing import Any, NamedTuple

import numpy as np
import scipy

from gridcut.device import cuda_is_available
from gridcut.device.arguments import INT64_MAX, check_switch, plain_array, reject_masked, unmarked
from gridcut.device.arrays import DeviceArray, on_device, to_host, widened, wrap_device_array
from gridcut.device.sparse import check_compressed, check_matrix, is_sparse

# Arrays of the dtypes that the solvers support

DTYPES = tuple(np.dtype(t) for t in (np.int32, np.int64, np.float32, np.float64))
# dtypes that convert to one of DTYPES without loss
WIDER = {
    "bool": np.int32,
    "int8": np.int32,
    "int16": np.int32,
    "uint8": np.int32,
    "uint16": np.int32,
    "uint32": np.int64,
    "float16": np.float32,
}
BLOCK = 1 << 16  # costs that are read twice while a cache holds them
MAX_SIDES = 2**31 - 1  # rows and columns share one range of int32 indices


def as_array(name: str, value) -> np.ndarray:
    """Convert an argument to an array; raises TypeError for masked entries, in rows of a list too, and non-arrays."""
    for part in value if isinstance(value, list | tuple) else ():
        reject_masked(name, part)
    return plain_array(name, value)


def matrix_of(name: str, value) -> np.ndarray:
    """Convert an argument to a dense matrix with one of DTYPES."""
    array = as_array(name, value)
    if array.ndim != 2:
        raise ValueError(f"{name} must be a matrix with 2 axes, got shape {array.shape}")
    check_sides(name, array.shape)
    return supported(name, array)


def supported(name: str, array: np.ndarray) -> np.ndarray:
    """The array converted to the smallest of DTYPES that holds its values; itself if it has one of them."""
    if array.dtype == np.uint64 and (not array.size or array.max() <= INT64_MAX):
        return array.astype(np.int64)
    return array.astype(supported_type(name, array.dtype), copy=False)


def supported_type(name: str, dtype: np.dtype) -> np.dtype:
    """The smallest of DTYPES that holds all values of a dtype, in native byte order."""
    native = dtype.newbyteorder("=")
    if native in DTYPES:
        return native
    if native.name not in WIDER:
        names = ", ".join(t.name for t in DTYPES)
        raise TypeError(f"{name} must be {names}, or convert to one of them without loss; got dtype {dtype}")
    return np.dtype(WIDER[native.name])


def check_sides(name: str, shape) -> None:
    """Raise ValueError if int32 indices cannot number all rows and columns."""
    if sum(shape) > MAX_SIDES:
        raise ValueError(f"{name} must have at most {MAX_SIDES} rows and columns together, got shape {tuple(shape)}")


def prices_of(start, shape) -> tuple[np.ndarray, np.ndarray]:
    """Row and column prices from an Assignment or a pair of arrays; finite, of any size."""
    if hasattr(start, "row_price"):
        start = (start.row_price, start.col_price)
    try:
        u, v = start
    except (TypeError, ValueError) as error:
        raise TypeError("start must be an Assignment, or a pair of row and column prices") from error
    u, v = (as_array("start", to_host(a)) for a in (u, v))
    if (u.shape, v.shape) != ((shape[0],), (shape[1],)):
        raise ValueError(f"start must hold {shape[0]} and {shape[1]} prices, got shapes {u.shape} and {v.shape}")
    if u.dtype.kind not in "iuf" or v.dtype.kind not in "iuf":
        raise TypeError(f"start must hold numbers, got {u.dtype} and {v.dtype}")
    if not (np.isfinite(u).all() and np.isfinite(v).all()):
        raise ValueError("start must hold finite prices")
    return u, v


MAX_SPARSE_SHARE = 0.25  # a matrix with a smaller share of allowed pairs is solved as a sparse one
MAX_EXACT_FLOAT = 2**52  # float64 holds these integers, and sums and differences of two of them
METRICS = ("euclidean", "sqeuclidean", "cityblock")  # of points; kernels receive the index


class HandedOver(Exception):
    """A problem that another method solves faster, as the first steps of a solver have shown."""


class Dense(NamedTuple):
    """cost[i, j] of every pair; a float cost of +inf forbids the pair."""

    cost: np.ndarray | DeviceArray

    @property
    def shape(self) -> tuple[int, int]:
        return self.cost.shape

    @property
    def form(self) -> str:
        return "dense"


class Sparse(NamedTuple):
    """Compressed rows: row i may be matched with columns indices[indptr[i] : indptr[i + 1]], in ascending order."""

    indptr: np.ndarray
    indices: np.ndarray
    cost: np.ndarray
    shape: tuple[int, int]

    @property
    def form(self) -> str:
        return "sparse"


class Problem(NamedTuple):
    """A validated problem in the solvers' form, and the transformations from the caller's form.

    costs        Dense or Sparse; no more rows than columns
    limit        cost of leaving each row unmatched, or None
    largest      largest finite absolute cost or limit
    largest_cost largest finite absolute cost
    transposed   rows are the caller's columns
    negated      the caller maximises
    integral     prices are integers although `costs` are floats (integers with forbidden pairs)
    shift        amount subtracted from the costs of each of the caller's rows, or None
    level        amount by which the solver's prices of the caller's rows are too low, and those of the columns too
                 high: a single limit for all rows was turned into one for the fewer columns
    library      library of the GPU array that holds the costs, or None for host arrays
    given        the caller's costs, to sum them
    """

    costs: Dense | Sparse
    limit: np.ndarray | None
    largest: int | float
    largest_cost: int | float
    transposed: bool
    negated: bool
    integral: bool
    shift: np.ndarray | None
    level: int | float
    library: str | None
    given: Any

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m) of the caller's matrix."""
        return self.given.shape


def check_problem(cost, *, mask, maximize, max_cost, keep_dense=False) -> Problem:
    """Check the arguments of `assign.solve`; raises TypeError or ValueError.

    keep_dense   a matrix stays dense however few pairs its mask allows, for methods that do not support sparse costs
    """
    maximize = check_switch("maximize", maximize)
    if on_device(cost):
        return _device_problem(cost, mask, maximize, max_cost)
    rows = rows_of(cost)
    if rows is not None:
        if mask is not None:
            raise ValueError("mask requires dense costs; in sparse costs, omit the forbidden pairs")
        given = Sparse(*rows)
    else:
        given = Dense(matrix_of("cost", cost))
    limit = check_limit(max_cost, given.shape[0], maximize)
    integral = False
    costs = given
    if mask is not None:
        costs, integral = _masked(given, mask, maximize, limit, keep_dense)
    cost = costs.cost
    if limit is not None and limit.dtype.kind == "f":
        integral = False
        if cost.dtype.kind == "i":
            cost = as_floats(cost)
    low, high = extremes(cost, maximize, isinstance(costs, Sparse))
    if maximize:
        cost = np.negative(cost, dtype=np.int64 if cost.dtype == np.int32 and low == -(2**31) else cost.dtype)
    costs = costs._replace(cost=cost)
    shift, level = None, 0
    n, m = costs.shape
    if n > m and limit is not None:
        if limit.min() != limit.max():
            costs, shift, limit = _shifted(costs, limit)
            low, high = extremes(costs.cost, False, isinstance(costs, Sparse))
        level = limit[0].item()
        limit = np.full(m, limit[0])
    largest_cost = max(abs(low), abs(high))
    largest = max(largest_cost, largest_limit(limit))
    if cost.dtype.kind == "i" and (sum(costs.shape) + 1) * largest * 4 > INT64_MAX:
        bound = INT64_MAX // (4 * (sum(costs.shape) + 1))
        raise ValueError(
            f"cost must be at most {bound} in absolute value for a {n} x {m} matrix, so that prices fit int64; "
            f"got {largest}"
        )
    transposed = n > m
    if not transposed and n == m and isinstance(costs, Dense) and limit is None:
        transposed = not costs.cost.flags.c_contiguous and costs.cost.flags.f_contiguous
    if transposed:
        costs = _transpose(costs)
    elif isinstance(costs, Dense):
        costs = Dense(np.ascontiguousarray(costs.cost))
    costs = _unmarked(costs)
    return Problem(
        costs, limit, largest, largest_cost, transposed, maximize, integral, shift, level, None, given
    )  # fmt: skip


def _masked(dense: Dense, mask, maximize: bool, limit, keep_dense: bool) -> tuple[Dense | Sparse, bool]:
    """Costs with forbidden pairs as +inf, or as Sparse if few pairs are left or floats would be inexact.

    Also returns whether the prices of the result are integers.
    """
    mask = as_array("mask", mask)
    if mask.dtype != np.bool_:
        raise TypeError(f"mask must be a bool array (True: the pair is allowed), got dtype {mask.dtype}")
    if mask.shape != dense.shape:
        raise ValueError(f"mask must have the shape of cost, {dense.shape}, got {mask.shape}")
    cost = dense.cost
    if mask.all():
        return dense, False
    is_integer = cost.dtype.kind == "i"
    largest = max((abs(int(cost.min())), abs(int(cost.max()))) if is_integer and cost.size else (0,))
    if limit is not None and limit.dtype.kind == "i":
        largest = max(largest, largest_limit(limit))
    exact = not is_integer or (sum(cost.shape) + 1) * largest * 4 < MAX_EXACT_FLOAT
    forbidden = -np.inf if maximize else np.inf
    if not exact or (not keep_dense and np.count_nonzero(mask) < MAX_SPARSE_SHARE * mask.size):
        if not is_integer:
            mask = mask & (cost != forbidden)
        rows, cols = np.nonzero(mask)
        indptr = np.zeros(cost.shape[0] + 1, np.int64)
        np.cumsum(np.count_nonzero(mask, axis=1), out=indptr[1:])
        return Sparse(indptr, cols.astype(np.int32), cost[rows, cols], cost.shape), False
    return Dense(np.where(mask, cost, forbidden)), is_integer


def _shifted(costs: Dense | Sparse, limit: np.ndarray):
    """Subtract each row's limit from its costs, so that all limits are 0 and the matrix may be transposed."""
    cost = costs.cost
    wide = np.int64 if cost.dtype.kind == "i" else np.float64
    by_pair = limit[:, None] if isinstance(costs, Dense) else np.repeat(limit, np.diff(costs.indptr))
    return costs._replace(cost=np.subtract(cost, by_pair, dtype=wide)), limit, np.zeros(1, limit.dtype)


def _unmarked(costs: Dense | Sparse) -> Dense | Sparse:
    """The same costs for kernels, not marked read-only."""
    if isinstance(costs, Dense):
        return Dense(unmarked(costs.cost))
    return Sparse(*map(unmarked, costs[:3]), costs.shape)


def _transpose(costs: Dense | Sparse) -> Dense | Sparse:
    if isinstance(costs, Dense):
        return Dense(np.ascontiguousarray(costs.cost.T))
    matrix = scipy.sparse.csr_array((np.arange(len(costs.cost)), costs.indices, costs.indptr), shape=costs.shape)
    matrix = matrix.tocsc()
    order = matrix.data
    return Sparse(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), costs.cost[order], costs.shape[::-1])


def check_limit(max_cost, rows: int, negated: bool = False) -> np.ndarray | None:
    """Cost of leaving each row unmatched: int64 if all are integers, else float64; None if every row is matched."""
    if max_cost is None:
        return None
    array = as_array("max_cost", max_cost)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"max_cost must be a number or one per row, got {type(max_cost).__name__}")
    if array.ndim > 1 or (array.ndim == 1 and len(array) != rows):
        raise ValueError(f"max_cost must be a number or one per row, {rows}, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("max_cost must be finite; pass None to match as many pairs as possible")
    # As floats, because the absolute value of the smallest int64 is not an int64.
    is_integer = (array == np.rint(array)).all() and (np.abs(array.astype(np.float64)) < 2.0**62).all()
    array = np.broadcast_to(array.astype(np.int64 if is_integer else np.float64), rows)
    return -array if negated else array.copy()


def as_floats(cost: np.ndarray) -> np.ndarray:
    """Integers as float64; raises ValueError if that would round them."""
    largest = max(abs(int(cost.min())), abs(int(cost.max()))) if cost.size else 0
    if largest > 2**53:
        raise ValueError(
            f"max_cost must be integers below 2^62 for integer costs as large as {largest}, or costs must be floats: "
            "float64 cannot hold fractions of that size"
        )
    return cost.astype(np.float64)


def largest_limit(limit: np.ndarray | None) -> int | float:
    """The largest absolute limit, or 0 without limits."""
    if limit is None or not limit.size:
        return 0
    return max(abs(limit.min().item()), abs(limit.max().item()))


def extremes(cost: np.ndarray, maximize: bool, sparse: bool) -> tuple:
    """Minimum and maximum finite cost; raises ValueError for costs that no problem may hold.

    int32 costs are not scanned, because neither sums nor prices can overflow.
    """
    if not cost.size:
        return 0, 0
    if cost.dtype == np.int32:
        return (int(cost.min()), 2**31) if maximize else (-(2**31), 2**31)
    rows = max(BLOCK * len(cost) // cost.size, 1)
    blocks = [cost[first : first + rows] for first in range(0, len(cost), rows)]
    low, high = np.array([(block.min(), block.max()) for block in blocks]).T
    low, high = low.min(), high.max()
    if cost.dtype.kind == "i":
        return int(low), int(high)
    if np.isnan(low):
        raise ValueError("cost must not hold NaN; forbid a pair with " + ("-inf" if maximize else "+inf"))
    wrong = high == np.inf if maximize else low == -np.inf
    if wrong:
        raise ValueError(
            f"cost must not hold {'+inf' if maximize else '-inf'} when it is {'maximised' if maximize else 'minimised'}"
        )
    if np.isinf(low) or np.isinf(high):
        if sparse:
            raise ValueError("sparse costs must be finite; omit forbidden pairs")
        finite = np.abs(cost[np.isfinite(cost)])
        high = finite.max() if finite.size else 0.0
        low = -high
    return float(low), float(high)


def _device_problem(cost, mask, maximize: bool, max_cost) -> Problem:
    if not cuda_is_available():
        raise TypeError(
            "cost is an array on a GPU, but no CUDA solver is available; copy it to the host first, "
            "or install numba-cuda (cutmatch's extra cuda13 or cuda12)"
        )
    for name, value in (("mask", mask), ("max_cost", max_cost)):
        if value is not None:
            raise ValueError(f"{name} is for costs on the host; copy cost to the host, or forbid pairs with inf")
    array = wrap_device_array("cost", cost)
    if len(array.shape) != 2:
        raise ValueError(f"cost must be a matrix with 2 axes, got shape {array.shape}")
    check_sides("cost", array.shape)
    if array.dtype not in DTYPES:
        wider = WIDER.get(array.dtype.name)
        if wider is None:
            raise TypeError(f"cost must hold {', '.join(t.name for t in DTYPES)}; got dtype {array.dtype}")
        array = wrap_device_array("cost", widened(cost, np.dtype(wider)))
    transposed = array.shape[0] > array.shape[1]
    return Problem(Dense(array), None, 0, 0, transposed, maximize, False, None, 0, array.library, array)


# Sparse costs in canonical form: ascending columns in each row, each pair stored once

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
    kind = matrix.dtype.kind if matrix.dtype == np.uint64 else supported_type("cost", matrix.dtype).kind
    if matrix.format != "csr":
        given = matrix.copy() if matrix.format == "lil" else matrix  # SciPy converts no read-only LIL arrays
        given = given.astype({"u": np.uint64, "i": np.int64, "f": np.float64}[kind], copy=False)
        matrix = given.tocsr()
        if matrix.nnz < given.nnz:  # SciPy adds up duplicates of COO matrices
            _check_sums(given.data)
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
    values = supported("cost", values)
    # A new SciPy matrix around these arrays, because the flags of the caller's matrix may be out of date.
    matrix = scipy.sparse.csr_array((values, indices.astype(np.int32, copy=False), indptr), shape=shape)
    if not matrix.has_canonical_format:
        matrix = matrix.astype(np.int64 if values.dtype.kind == "i" else np.float64, copy=True)
        matrix.sum_duplicates()
        if matrix.nnz < len(values):
            if not merge:
                raise ValueError("indices must not contain a column twice in one row")
            _check_sums(values)
    values = matrix.data.astype(np.float64, copy=False) if values.dtype.kind == "f" else matrix.data
    return matrix.indptr.astype(np.int64, copy=False), matrix.indices.astype(np.int32, copy=False), values, shape


def _check_sums(values) -> None:
    """Raise ValueError if sums of these integers might leave int64."""
    if values.dtype.kind != "f" and np.abs(values.astype(np.float64)).sum() > 2.0**62:
        raise ValueError("cost: the sum of the entries of a pair that is stored more than once might not fit int64")
