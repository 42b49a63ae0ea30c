"""Read graphs from files: MatrixMarket (.mtx, .mtx.gz), the format of matrix collections, and SciPy's .npz.

Values are kept, as weights for `matching.greedy`; `matching.maximum` uses stored entries as edges and reads no values.
"""

import errno
import gzip
import os
import zipfile
from functools import partial

import numpy as np
import scipy.io
import scipy.sparse

from gridcut.device.arguments import INT32_MAX
from gridcut.device.sparse import check_matrix
from matching.matrix_market import check_text

MATRIX_MARKET, NUMPY = (".mtx", ".mtx.gz"), ".npz"
MIN_ENTRY_BYTES = 4  # bytes of an entry in a file, "1 1\n"
MAX_COMPRESSION = 1032  # largest ratio of zlib
# Arrays of integers in .npz files.
INDEX_ARRAYS = ("shape", "indptr", "indices", "row", "col", "coords", "offsets")
MIN_MEMORY_BYTES = 12  # bytes of an entry in memory: row, column and a value


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
    zipped = str(path).lower().endswith(".gz")
    with (gzip.open if zipped else open)(path, "rb") as file:
        try:
            check_text(file, partial(_check_size, os.path.getsize(path) * (MAX_COMPRESSION if zipped else 1)))
            if zipped:
                file.seek(0)
            # An error can keep SciPy's reader alive longer than the file; seeking in the closed file would then end the
            # process.  So the reader gets a path, or a stream that cannot seek.
            return _as_graph(scipy.io.mmread(_Unseekable(file) if zipped else os.fspath(path), spmatrix=False))
        except Exception as error:  # the exception type depends on the part of the file that is broken
            raise _as_value_error(error, f"{str(path)!r} is not a complete MatrixMarket file") from None


class _Unseekable:
    """A file that can only be read sequentially."""

    def __init__(self, file):
        self._file = file

    def read(self, size=-1):
        return self._file.read(size)


def _check_size(size: int, rows: int, columns: int, entries: int) -> None:
    """Raise ValueError for more entries than `size` bytes or this machine can hold."""
    _check_shape((rows, columns))
    if MIN_ENTRY_BYTES * entries > size + 1:  # the last line may lack its end
        raise ValueError(f"Truncated file: its header declares {entries} entries, more than its size allows")
    needed, available = MIN_MEMORY_BYTES * entries + 4 * rows, _memory()
    if needed > available:
        raise ValueError(f"it needs at least {needed} bytes of memory, but this machine has {available}")


def _check_shape(shape: tuple[int, ...]) -> None:
    if max(shape) >= INT32_MAX:
        raise ValueError(f"its shape is {shape}, but a graph has at most {INT32_MAX - 1} vertices per side")


def _memory() -> int:
    """Memory of this machine in bytes; if unknown, more than any file needs."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 1 << 62


def _read_npz(path):
    with open(path, "rb") as file:
        try:
            if not zipfile.is_zipfile(file):
                raise ValueError("it is not a complete zip archive")
            file.seek(0)
            _check_index_types(file)
            file.seek(0)
            matrix = scipy.sparse.load_npz(file)
            if matrix.ndim != 2:
                raise ValueError(f"its shape is {matrix.shape}, but a matrix has 2 axes")
            _check_shape(matrix.shape)
            if matrix.dtype.kind not in "biufc":
                raise ValueError(f"its values must be numbers, got dtype {matrix.dtype}")
            return _as_graph(matrix)
        except Exception as error:  # SciPy, NumPy and zipfile raise various exceptions
            what = "is not a complete sparse matrix in the format of scipy.sparse.save_npz"
            raise _as_value_error(error, f"{str(path)!r} {what}") from None


def _check_index_types(file) -> None:
    """Raise ValueError unless shapes, pointers and indices are integers; SciPy would truncate floats."""
    with zipfile.ZipFile(file) as archive:
        for name in {f"{part}.npy" for part in INDEX_ARRAYS}.intersection(archive.namelist()):
            with archive.open(name) as array:
                version = np.lib.format.read_magic(array)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                dtype = read(array)[2]
            if dtype.kind not in "iu":
                raise ValueError(f"its array {name.removesuffix('.npy')!r} must hold integers, got dtype {dtype}")


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


def _as_value_error(error: Exception, what: str) -> Exception:
    """A ValueError with a one-line message; errors of the operating system, which have an errno, are unchanged.

    EINVAL is that of a position before the file's beginning, to which a damaged archive refers.
    """
    if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
        return error
    if isinstance(error, MemoryError):
        return ValueError(f"{what}: it needs more memory than is available")
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return ValueError(f"{what}: {reason}")
