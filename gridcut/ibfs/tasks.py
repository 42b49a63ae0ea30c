"""Independent tasks on threads, in order, each taken by the first thread that is free."""

import threading

from gridcut.device import run_threads


def run_tasks(items, run, threads, make_work, report):
    """The results of run(item, work) in the order of the items; each thread has a `work` of its own.

    report(done), if given, is called in the calling thread after each task it ran, and when all are done.  An error
    stops all threads after their current task and is raised.
    """
    results = [None] * len(items)
    lock = threading.Lock()
    abort = [0]
    waiting = iter(range(len(items)))
    done = [0]
    count = min(threads, len(items))

    def worker(which):
        work = make_work()
        while not abort[0]:
            with lock:
                i = next(waiting, None)
            if i is None:
                return
            results[i] = run(items[i], work)
            with lock:
                done[0] += 1
            if report is not None and which == count - 1 and done[0] < len(items):
                report(done[0])

    run_threads(worker, count, abort)
    if report is not None and items:
        report(done[0])
    return results
