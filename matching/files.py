"""Read graphs from files: MatrixMarket, as matrix collections hand it out, and SciPy's .npz.

Values are kept, since `matching.bottleneck` has a use for them; `matching.maximum` takes stored entries as edges and
looks at no value.
"""

import gzip
import zipfile
import zlib

import scipy.io
import scipy.sparse

MATRIX_MARKET, NUMPY = (".mtx", ".mtx.gz"), ".npz"
MAGIC = b"%%MatrixMarket"


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
        Another kind of file, a dense matrix, or a file that is broken or incomplete.

    Notes
    -----
    O(entries) time and memory.
    """
    name = str(path)
    if name.lower().endswith(MATRIX_MARKET):
        matrix = _read_matrix_market(path)
    elif name.lower().endswith(NUMPY):
        matrix = _read_npz(path)
    else:
        raise ValueError(f"cannot tell what {name!r} holds; name it {', '.join(MATRIX_MARKET)} or {NUMPY}")
    graph = scipy.sparse.csr_array(matrix)
    graph.sum_duplicates()
    return graph


def _read_matrix_market(path):
    opener = gzip.open if str(path).lower().endswith(".gz") else open
    with opener(path, "rb") as file:
        try:
            head = file.readline(200).split()
            if not head or head[0] != MAGIC:
                raise ValueError(f"it does not begin with {MAGIC.decode()}")
            if len(head) > 2 and head[2].lower() == b"array":
                raise ValueError("a dense matrix; write it in coordinate form, with scipy.io.mmwrite of a sparse one")
            file.seek(0)
            return scipy.io.mmread(file)
        # A broken archive is an OSError of gzip's, or what zlib makes of it; numbers out of range overflow.
        except (ValueError, TypeError, OverflowError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{str(path)!r} is no complete MatrixMarket file: {_reason(error)}") from None


def _read_npz(path):
    with open(path, "rb") as file:
        try:
            if not zipfile.is_zipfile(file):
                raise ValueError("it is no archive, or not all of one")
            file.seek(0)
            matrix = scipy.sparse.load_npz(file)
            if matrix.ndim != 2:
                raise ValueError(f"its shape is {matrix.shape}, and a matrix has rows and columns")
            if hasattr(matrix, "check_format"):
                matrix.check_format()  # indices beyond the shape would be followed blindly from here on
            return matrix
        # SciPy and NumPy raise what their parts do on files that are something else
        except (ValueError, TypeError, KeyError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise ValueError(
                f"{str(path)!r} is no complete sparse matrix as scipy.sparse.save_npz writes it: {_reason(error)}"
            ) from None


def _reason(error) -> str:
    """One line."""
    return (str(error).splitlines() or [type(error).__name__])[0]
