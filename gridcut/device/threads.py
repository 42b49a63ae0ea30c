"""Worker threads for kernels that run asynchronously: Python threads, each in a kernel without the GIL."""

import threading

import numba


def thread_count() -> int:
    """Number of threads a solver may use: numba's (numba.set_num_threads, NUMBA_NUM_THREADS)."""
    return numba.get_num_threads()


def run_threads(worker, count: int) -> list:
    """Run worker(0) ... worker(count - 1) at the same time; their results, or the first error raised.

    The last worker runs in the calling thread, so one worker starts no thread at all.
    """
    results = [None] * count
    errors = []

    def run(i):
        try:
            results[i] = worker(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,), name=f"cutmatch-{i}") for i in range(count - 1)]
    for thread in threads:
        thread.start()
    run(count - 1)
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
