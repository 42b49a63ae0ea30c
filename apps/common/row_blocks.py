"""Work on large images in blocks of rows, on all threads.

A pass over a whole image of 24 megapixels with NumPy writes every intermediate array to fresh memory, which takes
longer than the arithmetic.  The arrays of a block fit into a core's cache, and their memory serves the next block.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

BLOCK_PIXELS = 1 << 16
ONE_BLOCK_PIXELS = 1_000_000  # smaller images are one block, since starting threads would take longer


def blocks_of(shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """Ranges of rows (first, last), half open, that cover an image of this shape (H, W, ...)."""
    height, width = shape[:2]
    if height * width <= ONE_BLOCK_PIXELS:
        return [(0, height)]
    rows = max(1, BLOCK_PIXELS // width)
    return [(first, min(height, first + rows)) for first in range(0, height, rows)]


def for_blocks(work: Callable[[int, int], object], shape: tuple[int, ...]) -> list:
    """Call work(first, last) for all blocks of rows of an image, on all threads; the results, from top to bottom."""
    return in_parallel([partial(work, first, last) for first, last in blocks_of(shape)])


def in_parallel(tasks: Iterable[Callable[[], object]], threads: int | None = None) -> list:
    """Call functions on all threads, each on the next free one; their results in order.  The first error is raised.

    threads   the largest number of threads; None: numba's
    """
    from gridcut.device import run_threads, thread_count  # not needed to show a help

    tasks = list(tasks)
    results: list = [None] * len(tasks)
    pending = iter(range(len(tasks)))  # `next` on it is atomic
    abort = [0]

    def worker(_):
        for i in pending:
            if abort[0]:
                return
            results[i] = tasks[i]()

    run_threads(worker, max(1, min(thread_count() if threads is None else threads, len(tasks))), abort)
    return results


def on_one_thread(task: Callable[[], Any]) -> Any:
    """Run a task whose kernels use one thread, because others run at the same time."""
    import numba

    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        return task()
    finally:
        numba.set_num_threads(before)


def in_halves(work: Callable[[int, int], object], height: int) -> None:
    """Call work(first, last) for the upper and the lower half of the rows concurrently: for rows that take long."""
    in_parallel([partial(work, 0, height // 2), partial(work, height // 2, height)])


def mapped(function: Callable, items: Iterable, threads: int, ahead: int, **pool) -> Iterator:
    """Yield function(item) for the items, in order, while up to `ahead` later ones are computed on other threads.

    Items are drawn as they are needed.  `pool` are further arguments of the ThreadPoolExecutor.
    """
    pending: deque = deque()
    with ThreadPoolExecutor(threads, **pool) as executor:
        try:
            for item in items:
                pending.append(executor.submit(function, item))
                if len(pending) > ahead:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            executor.shutdown(cancel_futures=True)


def concurrently(task: Callable[[], Any]) -> Callable[[], Any]:
    """Start a task in a thread of its own; the function returned waits for its end, and returns or raises as it did.

    The task may use as many threads as the caller.  If that is one, it runs when its result is needed.
    """
    import numba

    from gridcut.device import thread_count

    threads = thread_count()
    if threads == 1:
        return task

    def limited():
        numba.set_num_threads(threads)  # a limit of the calling thread does not apply to others
        return task()

    pool = ThreadPoolExecutor(1, "cutmatch-task")
    started = pool.submit(limited)
    pool.shutdown(wait=False)
    return started.result
