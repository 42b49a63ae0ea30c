"""A batch in threads of this process: the kernels let go of the interpreter, and nothing has to be started."""

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

from apps.common.command import limit_threads
from apps.many.task import Outcome, Task, attempt


def run(tasks: Iterable[Task], at_once: int, each: int | None) -> Iterator[Outcome]:
    """Do tasks, `at_once` at a time on `each` threads (None: as many as there are); outcomes as they come.

    Tasks are taken as they are needed, for those of a video hold its frames.  When the caller stops, the items that
    are being done are finished, and no other is begun.
    """
    pool = ThreadPoolExecutor(at_once, "cutmatch", *(() if each is None else (limit_threads, (each,))))
    try:
        waiting = set()
        for task in tasks:
            waiting.add(pool.submit(attempt, task))
            while len(waiting) > at_once:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    finally:
        pool.shutdown(cancel_futures=True)
