"""The matching that `start=` gives to a search: checked, as two arrays on the host.

matching/solving_cuda.py checks starts on the GPU and raises the same errors.

O(n + m + edges of the rows that are matched in it).
"""

import numpy as np

from gridcut.device import CertificateError
from gridcut.device.arguments import plain_array
from gridcut.device.arrays import to_host
from matching.core.graph import BipartiteGraph


def start_on_host(start, graph: BipartiteGraph) -> tuple[np.ndarray, np.ndarray]:
    """(row_match, col_match) as new arrays, all -1 if start is None; raises ValueError if it is not a matching."""
    row_match, col_match = np.empty(graph.rows, np.int32), np.empty(graph.cols, np.int32)
    row_match.fill(-1)
    col_match.fill(-1)
    if start is None:
        return row_match, col_match
    from matching.core.certificate import certify_pairs

    given = plain_array("start", to_host(getattr(start, "row_match", start)))
    if given.shape != (graph.rows,):
        raise wrong_shape(given.shape, graph.rows)
    if given.dtype.kind not in "iu" and given.size:
        raise wrong_dtype(given.dtype)
    if given.size and not (given.min() >= -1 and given.max() < graph.cols):
        raise wrong_columns(graph.cols)
    row_match[:] = given
    rows = np.flatnonzero(row_match >= 0)
    col_match[row_match[rows]] = rows
    try:
        certify_pairs(graph, row_match, col_match)
    except CertificateError as error:
        raise ValueError(f"start must be a matching in the graph: {error}; set such rows to -1") from None
    return row_match, col_match


def wrong_shape(shape, rows: int) -> ValueError:
    return ValueError(f"start must hold the column of each of the {rows} rows, got shape {tuple(shape)}")


def wrong_dtype(dtype) -> TypeError:
    return TypeError(f"start must hold integers, the column of each row or -1, got dtype {dtype}")


def wrong_columns(cols: int) -> ValueError:
    return ValueError(f"start must hold columns in 0 ... {cols - 1}, or -1 for unmatched rows")
