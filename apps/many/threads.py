"""A batch in threads of this process: the kernels let go of the interpreter, and nothing has to be started."""

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

from apps.common.command import limit_threads
from apps.many.task import Outcome, Task, attempt


def run(tasks: Iterable[Task], concurrent_items: int, threads_per_item: int | None) -> Iterator[Outcome]:
    """Do tasks, `concurrent_items` at a time on `threads_per_item` threads (None: as many as there are); outcomes as they come.

    Tasks are taken as they are needed, for those of a video hold its frames.  When the caller stops, the items that
    are being done are finished, and no other is begun.
    """
    pool = ThreadPoolExecutor(
        concurrent_items, "cutmatch", *(() if threads_per_item is None else (limit_threads, (threads_per_item,)))
    )
    try:
        waiting = set()
        for task in tasks:
            waiting.add(pool.submit(attempt, task))
            while len(waiting) > concurrent_items:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    finally:
        pool.shutdown(cancel_futures=True)
