"""How many vertices the CUDA methods accept; larger graphs are refused here, before anything is allocated for them.

Kernels number vertices with int32.  Their loops add the number of threads of the grid to such a number, and where two
lists share one array, their length, so the limits lie below 2^31.
"""

MAX_BLOCKS = 4096  # of a cooperative grid, the room in block_sums of grid.py
MAX_THREADS = MAX_BLOCKS * 1024  # as many as CUDA allows in a block
MAX_SIDE = 2**31 - 1 - MAX_THREADS  # vertices on one side, or of a general graph
MAX_LISTED = 2**30  # vertices of which two lists share one array
MAX_LABELLED = 2**31 - 4  # vertices of both sides, whose labels go up to their number


def check_sides(*sizes: int) -> None:
    """Refuse a side on which a loop would leave int32."""
    _check("vertices on one side", max(sizes), MAX_SIDE, "CUDA methods accept; use device='cpu'")


def check_labels(vertices: int) -> None:
    """Refuse labels beyond int32."""
    _check("vertices", vertices, MAX_LABELLED, "labels can number; use 'ms_bfs_graft'")


def check_lists(method: str, what: str, size: int, instead: str) -> None:
    """Refuse two lists that together leave int32."""
    _check(what, size, MAX_LISTED, f"{method!r} accepts on CUDA; use {instead}")


def _check(what: str, size: int, limit: int, why: str) -> None:
    if size > limit:
        raise ValueError(f"graph has {size} {what}, more than the {limit} that {why}")
