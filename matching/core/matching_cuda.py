"""A matching on a GPU: marked as unmatched, its pairs counted, and as arrays of the caller's library."""

import numpy as np

from gridcut.device.arrays import download, return_as, to_library, upload
from gridcut.device.cuda import SIMULATED, cuda, cuda_kernel
from gridcut.device.cuda_types import int32, int64
from gridcut.device.launch import launch
from matching.core.grid_cuda import add_up

THREADS = 32 if SIMULATED else 256


@cuda_kernel
def clear_kernel(row_match, col_match):
    """Mark all rows and columns as unmatched."""
    v = int64(cuda.grid(1))
    if v < row_match.size:
        row_match[v] = int32(-1)
    if v < col_match.size:
        col_match[v] = int32(-1)


@cuda_kernel
def count_kernel(match, found):
    """Count the matched vertices."""
    v = int32(cuda.grid(1))
    add_up(found, int32(0), int64(v < match.size and match[v] >= 0))


def clear(row_match, col_match) -> None:
    """Mark all vertices as unmatched; the arrays may be the same."""
    size = max(row_match.size, col_match.size, 1)
    launch(clear_kernel, -(-size // THREADS), THREADS, row_match, col_match)


def matched(match) -> int:
    """Number of matched vertices."""
    found = upload(np.zeros(1, np.int64))
    launch(count_kernel, -(-match.size // THREADS), THREADS, match, found)
    return int(download(found)[0])


def as_library_array(partners, size: int, library: str):
    """Partners as an array of the caller's library; an empty array has no memory to share."""
    return return_as(partners, library) if size else to_library(np.zeros(0, np.int32), library)
