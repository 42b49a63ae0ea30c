"""Limits of the CUDA methods on the number of vertices; larger graphs are rejected here, before any allocation.

Kernels number vertices with int32. Their loops add the number of threads of the grid to a vertex, and where two lists
share one array, the length of a list, so the limits are below 2^31.
"""

MAX_BLOCKS = 4096  # per cooperative grid; the size of block_sums in grid_cuda.py
MAX_THREADS = MAX_BLOCKS * 1024  # CUDA's maximum of threads per block
MAX_SIDE = 2**31 - 1 - MAX_THREADS  # vertices on one side, or of a general graph
MAX_LISTED = 2**30  # vertices in each of two lists that share one array
MAX_LABELLED = 2**31 - 4  # vertices on both sides, which is the largest label


def check_sides(*sizes: int) -> None:
    """Raise ValueError for a side on which a loop variable would overflow int32."""
    _check("vertices on one side", max(sizes), MAX_SIDE, "CUDA methods accept; use device='cpu'")


def check_labels(vertices: int) -> None:
    """Raise ValueError for labels beyond int32."""
    _check("vertices", vertices, MAX_LABELLED, "labels can number; use 'ms_bfs_graft'")


def check_lists(method: str, what: str, size: int, instead: str) -> None:
    """Raise ValueError for two lists whose common array would overflow int32 indices."""
    _check(what, size, MAX_LISTED, f"{method!r} accepts on CUDA; use {instead}")


def _check(what: str, size: int, limit: int, why: str) -> None:
    if size > limit:
        raise ValueError(f"graph has {size} {what}, more than the {limit} that {why}")
