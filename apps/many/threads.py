"""Run a batch in threads of this process.  The kernels release the interpreter lock; no process has to be started."""

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

from apps.common.command import limit_threads
from apps.many.task import Outcome, Task, attempt


def run(tasks: Iterable[Task], concurrent_items: int, threads_per_item: int | None) -> Iterator[Outcome]:
    """Run `concurrent_items` tasks at a time, each on `threads_per_item` threads (None: no limit); yield outcomes.

    Outcomes are in order of completion.  Tasks are drawn on demand, because tasks of a video contain its frames.  When
    the caller stops, running items are finished, and no other is started.
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
