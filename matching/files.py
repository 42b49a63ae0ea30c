"""Read graphs from files: MatrixMarket (.mtx, .mtx.gz), the format of matrix collections, and SciPy's .npz.

Values are kept, as weights for `matching.greedy`; `matching.maximum` uses stored entries as edges and reads no values.

NumPy reads the entries of MatrixMarket files: SciPy's reader ignores text after the last number of a line, and ends the
process where such text is the end of the file.
"""

import errno
import gzip
import os
import warnings
import zipfile
from contextlib import contextmanager

import numpy as np
import scipy.sparse

from gridcut.device.arguments import INT32_MAX
from gridcut.device.sparse import check_matrix

MATRIX_MARKET, NUMPY = (".mtx", ".mtx.gz"), ".npz"
FIELDS = {
    "real": np.float64,
    "double": np.float64,
    "complex": np.float64,  # two of them
    "integer": np.int64,
    "unsigned-integer": np.uint64,
    "pattern": None,
}
# What is stored at (j, i) for an entry at (i, j).
MIRRORS = {"general": None, "symmetric": np.positive, "skew-symmetric": np.negative, "hermitian": np.conj}


def read_graph(path: str | os.PathLike) -> scipy.sparse.csr_array:
    """Read a sparse matrix, whose entries are the edges of a bipartite graph between its rows and columns.

    Parameters
    ----------
    path : str or os.PathLike
        A MatrixMarket file in coordinate format, .mtx or .mtx.gz, or an .npz file written by
        `scipy.sparse.save_npz`.

    Returns
    -------
    csr_array of shape (n, m)
        Every entry stored in the file, including zeros, and both halves of symmetric files.  Entries stored twice are
        summed.  The values of pattern files are ones.

    Raises
    ------
    OSError
        If the file does not exist or cannot be read.
    ValueError
        If the file has another format, contains a dense matrix, is broken or incomplete, or needs more memory than the
        machine has; or if integers stored twice have a sum that does not fit their dtype.

    See Also
    --------
    maximum : Maximum matching of the graph.

    Notes
    -----
    O(entries) time and memory.

    References
    ----------
    .. [1] Boisvert, Pozo, Remington. "The Matrix Market exchange formats: initial design." NIST IR 5935, 1996.

    Examples
    --------
    >>> import os, tempfile
    >>> import scipy.sparse
    >>> from matching import read_graph
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "graph.npz")
    ...     scipy.sparse.save_npz(path, scipy.sparse.csr_array([[1, 0, 2], [0, 3, 0]]))
    ...     graph = read_graph(path)
    >>> graph.shape, graph.nnz
    ((2, 3), 3)
    """
    name = str(path)
    if name.lower().endswith(MATRIX_MARKET):
        return _read_matrix_market(path)
    if name.lower().endswith(NUMPY):
        return _read_npz(path)
    raise ValueError(f"unknown file format of {name!r}; the name must end in {', '.join(MATRIX_MARKET)} or {NUMPY}")


def _read_matrix_market(path):
    opened = gzip.open if str(path).lower().endswith(".gz") else open
    with (
        opened(path, "rt", encoding="latin-1", newline="\n") as file,
        _as_value_error(f"{str(path)!r} is not a complete MatrixMarket file"),
    ):
        head = file.readline().lower().split()
        if head[:1] != ["%%matrixmarket"]:
            raise ValueError("it does not begin with %%MatrixMarket")
        if head[1:3] == ["matrix", "array"]:
            raise ValueError("it contains a dense matrix; save a sparse matrix with scipy.io.mmwrite")
        if len(head) != 5 or head[1:3] != ["matrix", "coordinate"] or head[3] not in FIELDS or head[4] not in MIRRORS:
            raise ValueError(
                f"line 1 must be '%%MatrixMarket matrix coordinate', one of {', '.join(FIELDS)}, and one of "
                f"{', '.join(MIRRORS)}"
            )
        size = next((line for line in file if line.strip() and not line.startswith("%")), "").split()
        if len(size) != 3 or not all(word.isdigit() and len(word) < 20 for word in size):
            raise ValueError("after its comments must be a line with the numbers of rows, columns and entries")
        rows, cols, entries = map(int, size)
        _check_shape((rows, cols))
        return _as_graph(_entries(file, entries, (rows, cols), *head[3:]))


def _entries(file, number: int, shape: tuple[int, int], field: str, symmetry: str):
    """The matrix from the lines of its entries: row and column, from 1, and the value."""
    kind = FIELDS[field]
    names = [] if kind is None else ["real", "imag"] if field == "complex" else ["real"]
    dtype = [("row", np.int64), ("col", np.int64), *((name, kind) for name in names)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy only warns of fractions that are read as integers
        warnings.filterwarnings("ignore", message=".*no data")
        table = np.loadtxt(file, dtype, comments=None, ndmin=1)
    if len(table) != number:
        raise ValueError(f"its header declares {number} entries, but it contains {len(table)}")
    value = table["real"] if names else np.ones(number)
    if field == "complex":
        value = value + 1j * table["imag"]
    row, col = table["row"] - 1, table["col"] - 1
    mirrored = MIRRORS[symmetry]
    if mirrored is not None:
        below = row != col
        value = np.concatenate([value, mirrored(value[below])])
        row, col = np.concatenate([row, col[below]]), np.concatenate([col, row[below]])
    return scipy.sparse.coo_array((value, (row, col)), shape=shape)


def _check_shape(shape: tuple[int, ...]) -> None:
    if max(shape) >= INT32_MAX:
        raise ValueError(f"its shape is {shape}, but a graph has at most {INT32_MAX - 1} vertices per side")


def _read_npz(path):
    what = f"{str(path)!r} is not a complete sparse matrix in the format of scipy.sparse.save_npz"
    with open(path, "rb") as file, _as_value_error(what):
        if not zipfile.is_zipfile(file):
            raise ValueError("it is not a complete zip archive")
        file.seek(0)
        matrix = scipy.sparse.load_npz(file)
        if matrix.ndim != 2:
            raise ValueError(f"its shape is {matrix.shape}, but a matrix has 2 axes")
        _check_shape(matrix.shape)
        if matrix.dtype.kind not in "biufc":
            raise ValueError(f"its values must be numbers, got dtype {matrix.dtype}")
        return _as_graph(matrix)


def _as_graph(matrix) -> scipy.sparse.csr_array:
    """A CSR array with each entry once."""
    check_matrix("the matrix", matrix)  # before compiled code follows indices outside the shape
    graph = scipy.sparse.csr_array(matrix)
    graph.sum_duplicates()
    if graph.nnz < matrix.nnz and graph.dtype.kind in "iu":
        total = scipy.sparse.csr_array(matrix.astype(np.float64))
        total.sum_duplicates()
        # An overflowing sum is off by a multiple of 2^bits, far above any rounding error.
        if (np.abs(total.data - graph.data) > 2.0 ** (8 * graph.dtype.itemsize - 1)).any():
            raise ValueError(f"the sum of entries stored twice does not fit {graph.dtype}")
    return graph


@contextmanager
def _as_value_error(what: str):
    """Turn what NumPy, SciPy, zlib and zipfile raise for a broken file into a ValueError of one line.

    Errors of the operating system, which have an errno, stay; EINVAL is that of a position before the file's beginning,
    to which a damaged archive refers.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        if isinstance(error, MemoryError):
            reason = "it needs more memory than is available"
        raise ValueError(f"{what}: {reason}") from None
