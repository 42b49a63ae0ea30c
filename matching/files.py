"""Read graphs from files: MatrixMarket, as matrix collections hand it out, and SciPy's .npz.

Values are kept, since `matching.bottleneck` has a use for them; `matching.maximum` takes stored entries as edges and
looks at no value.
"""

import gzip
import inspect
import os
import zipfile

import numpy as np
import scipy.io
import scipy.sparse

from gridcut.device.sparse import check_matrix
from matching.core.sparse import INT32_MAX

MATRIX_MARKET, NUMPY = (".mtx", ".mtx.gz"), ".npz"
MAGIC = b"%%MatrixMarket"
LONGEST = 1 << 16  # bytes of a line that is looked at
SHORTEST = 4  # bytes of an entry, "1 1\n"
DEFLATED = 1032  # bytes of which zlib makes one at best
IN_MEMORY = 12  # bytes of an entry at least: row, column and a value


def read_graph(path) -> scipy.sparse.csr_array:
    """Read a sparse matrix, whose entries are the edges of a bipartite graph of its rows and columns.

    Parameters
    ----------
    path : str or Path
        A MatrixMarket file in coordinate form, .mtx or .mtx.gz, or what `scipy.sparse.save_npz` wrote, .npz.

    Returns
    -------
    csr_array (n, m)
        Every entry stored in the file, zeros too; of symmetric files both halves.  Entries stored twice are added up.
        Files of patterns get ones.

    Raises
    ------
    OSError
        There is no such file, or it may not be read.
    ValueError
        Another kind of file, a dense matrix, a file that is broken or incomplete, one that needs more memory than there
        is, or integers stored twice whose sum does not fit their dtype.

    Notes
    -----
    O(entries) time and memory.
    """
    name = str(path)
    if name.lower().endswith(MATRIX_MARKET):
        return _read_matrix_market(path)
    if name.lower().endswith(NUMPY):
        return _read_npz(path)
    raise ValueError(f"cannot tell what {name!r} holds; name it {', '.join(MATRIX_MARKET)} or {NUMPY}")


def _read_matrix_market(path):
    zipped = str(path).lower().endswith(".gz")
    with (gzip.open if zipped else open)(path, "rb") as file:
        try:
            _check_head(file, os.path.getsize(path) * (DEFLATED if zipped else 1))
            if zipped:
                file.seek(0)
            # SciPy's reader may outlive the file, when an error keeps it, and would then end the process by seeking in
            # a closed one: it gets a name, or a stream that cannot seek.
            return _as_graph(scipy.io.mmread(_Unseekable(file) if zipped else os.fspath(path), **_ARRAYS))
        except Exception as error:  # what is raised depends on which part of a foreign file is broken
            raise _refused(error, f"{str(path)!r} is no complete MatrixMarket file") from None


# From 1.15 on SciPy asks whether to return a matrix or an array, and warns of its default from 1.18 on.
_ARRAYS = {"spmatrix": False} if "spmatrix" in inspect.signature(scipy.io.mmread).parameters else {}


class _Unseekable:
    """The bytes of a file, one after the other."""

    def __init__(self, file):
        self._file = file

    def read(self, size=-1):
        return self._file.read(size)


def _check_head(file, size: int) -> None:
    """Refuse other kinds of files, and counts of entries that a file of `size` bytes, or this machine, cannot hold."""
    head = file.readline(LONGEST).split()
    if not head or head[0] != MAGIC:
        raise ValueError(f"it does not begin with {MAGIC.decode()}")
    if len(head) > 2 and head[2].lower() == b"array":
        raise ValueError("a dense matrix; write it in coordinate form, with scipy.io.mmwrite of a sparse one")
    if len(head) < 2 or head[1].lower() != b"matrix":
        raise ValueError("it holds no matrix")
    line = file.readline(LONGEST)
    while line and (line.startswith(b"%") or not line.strip()):
        while line and not line.endswith(b"\n"):  # a long comment
            line = file.readline(LONGEST)
        line = file.readline(LONGEST)
    try:
        rows, cols, entries = map(int, line.split())
    except ValueError:
        return  # SciPy's reader says what is wrong
    if max(rows, cols) >= INT32_MAX:
        raise ValueError(f"its shape is {(rows, cols)}, and a graph has {INT32_MAX - 1} vertices a side at most")
    if SHORTEST * entries > size + 1:  # the last line may lack its end
        raise ValueError(f"Truncated file: {entries} entries are announced, more than it has room for")
    needed, there = IN_MEMORY * entries + 4 * rows, _memory()
    if needed > there:
        raise ValueError(f"it takes {needed} bytes of memory or more, and this machine has {there}")


def _memory() -> int:
    """Bytes of this machine; where that is not known more than any file needs."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 1 << 62


def _read_npz(path):
    with open(path, "rb") as file:
        try:
            if not zipfile.is_zipfile(file):
                raise ValueError("it is no archive, or not all of one")
            file.seek(0)
            matrix = scipy.sparse.load_npz(file)
            if matrix.ndim != 2:
                raise ValueError(f"its shape is {matrix.shape}, and a matrix has rows and columns")
            return _as_graph(matrix)
        except Exception as error:  # SciPy, NumPy and the archive raise what their parts do
            what = "is no complete sparse matrix as scipy.sparse.save_npz writes it"
            raise _refused(error, f"{str(path)!r} {what}") from None


def _as_graph(matrix) -> scipy.sparse.csr_array:
    """Compressed rows, each entry once."""
    check_matrix("the matrix", matrix)  # or indices beyond the shape would be followed
    graph = scipy.sparse.csr_array(matrix)
    graph.sum_duplicates()
    if graph.nnz < matrix.nnz and graph.dtype.kind in "iu":
        total = scipy.sparse.csr_array(matrix.astype(np.float64))
        total.sum_duplicates()
        # A sum that does not fit is off by a multiple of 2^bits, which rounding never comes near.
        if (np.abs(total.data - graph.data) > 2.0 ** (8 * graph.dtype.itemsize - 1)).any():
            raise ValueError(f"entries stored twice add up to more than {graph.dtype} holds")
    return graph


def _refused(error: Exception, what: str) -> Exception:
    """A ValueError of one line; errors of the system, which have a number, stay what they are."""
    if isinstance(error, OSError) and error.errno is not None:
        return error
    if isinstance(error, MemoryError):
        return ValueError(f"{what} for this machine: it needs more memory than there is")
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return ValueError(f"{what}: {reason}")
