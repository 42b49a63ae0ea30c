"""Arguments as arrays of the types that the solvers take; nothing here depends on what the numbers mean."""

import numpy as np

from gridcut.device.arguments import plain_array, refuse_masked
from gridcut.device.arrays import to_host

DTYPES = tuple(np.dtype(t) for t in (np.int32, np.int64, np.float32, np.float64))
# Kinds that fit into one of DTYPES without loss.
WIDER = {
    "bool": np.int32,
    "int8": np.int32,
    "int16": np.int32,
    "uint8": np.int32,
    "uint16": np.int32,
    "uint32": np.int64,
    "float16": np.float32,
}
MAX_SIDES = 2**31 - 1  # rows and columns are numbered together with int32


def as_array(name: str, value) -> np.ndarray:
    """An array of what a caller passed; TypeError for masked entries, also of rows in a list, and for what is none."""
    for part in value if isinstance(value, list | tuple) else ():
        refuse_masked(name, part)
    return plain_array(name, value)


def matrix_of(name: str, value) -> np.ndarray:
    """A dense matrix of one of DTYPES."""
    array = as_array(name, value)
    if array.ndim != 2:
        raise ValueError(f"{name} must be a matrix with 2 axes, got shape {array.shape}")
    check_sides(name, array.shape)
    return supported(name, array)


def supported(name: str, array: np.ndarray) -> np.ndarray:
    """The array with the least of DTYPES that holds its values; itself if it has one of them."""
    return array.astype(supported_type(name, array.dtype), copy=False)


def supported_type(name: str, dtype: np.dtype) -> np.dtype:
    """The least of DTYPES that holds all values of a dtype, in the machine's byte order."""
    native = dtype.newbyteorder("=")
    if native in DTYPES:
        return native
    if native.name not in WIDER:
        names = ", ".join(t.name for t in DTYPES)
        raise TypeError(f"{name} must hold {names}, or what fits into one of them; got dtype {dtype}")
    return np.dtype(WIDER[native.name])


def check_sides(name: str, shape) -> None:
    """Refuse what int32 indices cannot number."""
    if sum(shape) > MAX_SIDES:
        raise ValueError(f"{name} must have at most {MAX_SIDES} rows and columns together, got shape {tuple(shape)}")


def prices_of(start, shape) -> tuple[np.ndarray, np.ndarray]:
    """Prices u, v of the rows and columns from an Assignment or a pair of arrays, finite but of any size."""
    if hasattr(start, "row_price"):
        start = (start.row_price, start.col_price)
    try:
        u, v = start
    except (TypeError, ValueError) as error:
        raise TypeError("start must be an Assignment, or prices of the rows and of the columns") from error
    u, v = (as_array("start", to_host(a)) for a in (u, v))
    if (u.shape, v.shape) != ((shape[0],), (shape[1],)):
        raise ValueError(f"start must hold {shape[0]} and {shape[1]} prices, got shapes {u.shape} and {v.shape}")
    if u.dtype.kind not in "iuf" or v.dtype.kind not in "iuf":
        raise TypeError(f"start must hold numbers, got {u.dtype} and {v.dtype}")
    if not (np.isfinite(u).all() and np.isfinite(v).all()):
        raise ValueError("start must hold finite prices")
    return u, v
