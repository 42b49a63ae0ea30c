"""Conversion of arguments to arrays of the dtypes that the solvers support."""

import numpy as np

from gridcut.device.arguments import plain_array, reject_masked
from gridcut.device.arrays import to_host
from gridcut.device.number_limits import INT64_MAX

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
