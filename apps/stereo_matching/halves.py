"""The two halves of an image on two threads, for kernels that compute each line independently."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


def in_halves(lines: int, run: Callable[[int, int], object]) -> None:
    """Call run(first, last) for the upper and the lower half of the lines concurrently."""
    middle = lines // 2
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, (0, middle), (middle, lines)))
