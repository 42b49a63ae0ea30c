"""Run the items of a batch: in threads of this process, in processes of this machine, or on a dask.distributed cluster.

A task consists of plain data and a module-level function, so it can be pickled.  All engines are executors of
concurrent.futures, from which one function draws outcomes in order of completion; tasks are drawn on demand, because
those of a video contain its frames.  The result of a task is an `Outcome`: an error is returned as text, because not
all exceptions of other libraries can be pickled.

Every worker process is an executor of its own.  If it is killed, its item is tried again in a new process while the
others continue; with one executor of many processes, a killed one would take all running items with it.  Workers are
spawned, because a process that has used OpenMP or CUDA must not be forked.  Environment variables limit the threads of
a worker and select its GPU; the libraries read them when they are loaded.

Every worker of a cluster must have cutmatch installed and access the folders under the same paths.  For several GPUs,
start the workers with dask-cuda, one per GPU, so that each worker sees only its own GPU.
"""

import contextlib
import io
import os
import pickle
import signal
from argparse import Namespace
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from itertools import islice
from multiprocessing import active_children, get_context, resource_tracker
from pathlib import Path
from typing import Any

from apps.common import writing
from apps.common.clock import Clock
from apps.common.command import limit_threads, limited_threads
from apps.common.errors import InputError, is_defect, reason_of
from apps.common.outputs import Outputs
from apps.common.suggestions import install

DONE, SKIPPED, FAILED = "done", "skipped", "failed"
ATTEMPTS = 3  # of an item whose process is killed, including the first
THREAD_LIMITS = (
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENCV_FOR_THREADS_NUM",
)
GPUS = "CUDA_VISIBLE_DEVICES"
MAX_PENDING_TASKS = 4  # tasks submitted per thread of a cluster before the first result is awaited
CONNECT_TIMEOUT = 20  # seconds to wait for the scheduler
KILLED = "every process that ran it was killed; the machine may be short of memory, use fewer --workers"


@dataclass(frozen=True, slots=True)
class Task:
    """`function(job, chosen)` reads, computes and writes an item, and returns its report.

    `function` is defined in a module, so that other processes can import it.  `job` contains the item's paths, numbers
    and arrays.  `outputs` decides which files it may write.  For the record, `source` is that of the item, and
    `options` are the options as parsed.
    """

    number: int
    name: str
    shown: str
    command: str
    function: Callable
    job: object
    chosen: Namespace
    outputs: Outputs
    source: Path | None = None
    options: dict | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a task: DONE or SKIPPED with its report, or FAILED with a reason."""

    number: int
    shown: str
    status: str
    report: dict | None = None
    reason: str = ""
    defect: bool = False  # whether the failure is a defect of this program


def attempt(task: Task) -> Outcome:
    """Run a task, unless `--resume` finds its record up to date; errors become an outcome."""
    from apps.run import records

    try:
        report, is_old = records.performed(task, Clock())
    except Exception as error:  # no error may stop the other items
        return failed(task.number, task.shown, error)
    return Outcome(task.number, task.shown, SKIPPED if is_old else DONE, report)


def failed(number: int, shown: str, error: BaseException) -> Outcome:
    """The outcome of a task that raised an error."""
    if isinstance(error, BrokenProcessPool) or type(error).__name__ == "KilledWorker":  # the latter is dask's
        return Outcome(number, shown, FAILED, reason=KILLED)
    return Outcome(number, shown, FAILED, reason=reason_of(error), defect=is_defect(error))


def in_threads(tasks: Iterable[Task], concurrent_items: int, threads_per_item: int | None) -> Iterator[Outcome]:
    """Run `concurrent_items` tasks at a time, each on `threads_per_item` threads (None: no limit); yield outcomes.

    When the caller stops, running items are finished, and no other is started.
    """
    limit = () if threads_per_item is None else (limit_threads, (threads_per_item,))
    pool = ThreadPoolExecutor(concurrent_items, "cutmatch", *limit)
    try:
        yield from _outcomes(tasks, [pool] * concurrent_items)
    finally:
        pool.shutdown(cancel_futures=True)


def in_processes(tasks: Iterable[Task], environments: list[dict], out) -> Iterator[Outcome]:
    """Run tasks in one process per environment; yield outcomes.

    When the caller stops, the processes are killed and their unfinished files are removed from the folder `out`.
    """
    pools = [_Process(environment) for environment in environments]
    try:
        yield from _outcomes(tasks, pools)
    finally:
        for process in (process for pool in pools for process in pool.started):
            process.kill()
            process.join()
            writing.remove_unfinished(Path(out), process.pid)


def on_cluster(tasks: Iterable[Task], address: str, threads: int) -> Iterator[Outcome]:
    """Run tasks on the cluster of the scheduler at `address`, each on `threads` threads; yield outcomes.

    When a worker dies, dask retries the item on another worker, up to its own limit (allowed-failures).  When the
    caller stops, pending tasks are cancelled; workers finish running tasks.
    """
    try:
        from distributed import Client
    except ImportError:
        hint = install("dask", "'dask[distributed]'")
        raise InputError(f"--scheduler requires dask.distributed; {hint}") from None
    try:
        client = Client(address, timeout=CONNECT_TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as reason:
        raise InputError(f"--scheduler: no cluster at {address!r} ({reason}); start one, or use --workers") from None
    with client:
        pool = client.get_executor(pure=False)
        slots = MAX_PENDING_TASKS * max(1, sum(client.nthreads().values()))
        try:
            yield from _outcomes(tasks, [pool] * slots, lambda task: (_attempt_there, _packed(task), threads))
        finally:
            pool.shutdown(wait=False)


def _outcomes(tasks: Iterable[Task], pools: Sequence, call=lambda task: (attempt, task)) -> Iterator[Outcome]:
    """Outcomes of tasks, one at a time in each of the executors; `call` makes the function and arguments submitted."""
    tasks, idle = iter(tasks), deque(pools)
    busy: dict[Future, tuple[Task, Any, int]] = {}
    while True:
        for task in islice(tasks, len(idle)):
            pool = idle.popleft()
            busy[pool.submit(*call(task))] = task, pool, 1
        if not busy:
            return
        for future in wait(busy, return_when=FIRST_COMPLETED).done:
            task, pool, attempts = busy.pop(future)
            error = future.exception()
            if isinstance(error, BrokenProcessPool) and attempts < ATTEMPTS:
                busy[pool.submit(*call(task))] = task, pool, attempts + 1
                continue
            idle.append(pool)
            yield future.result() if error is None else failed(task.number, task.shown, error)


def environments(workers: int, threads: int | None, device: str) -> list[dict]:
    """Environment variables of each worker: its share of the threads (default: one) and a GPU, assigned cyclically."""
    share = {}
    if threads is not None or workers > 1:
        share = dict.fromkeys(THREAD_LIMITS, str(max(1, (threads or 1) // workers)))
    gpus = _gpus(device)
    return [share | ({GPUS: gpus[i % len(gpus)]} if gpus else {}) for i in range(workers)]


def _gpus(device: str) -> list[str]:
    """The GPUs that this process may use, in the notation of CUDA_VISIBLE_DEVICES."""
    if device == "cpu":
        return []
    from gridcut.device.choose import gpu_count

    named = [name for name in os.environ.get(GPUS, "").split(",") if name]
    count = gpu_count()
    return named or [str(i) for i in range(count)] if count else []


class _Process:
    """An executor of one process, which starts with its first task, and again after it was killed.

    started   the processes, also those that were killed
    """

    def __init__(self, environment: dict):
        self._environment = environment
        self._pool: ProcessPoolExecutor | None = None
        self.started: list = []

    def submit(self, *call) -> Future:
        """Run a call in the process."""
        others = active_children()
        with _inherited(self._environment):
            try:
                future = (self._pool or self._new_pool()).submit(*call)
            except BrokenProcessPool:
                future = self._new_pool().submit(*call)
        self.started += [child for child in active_children() if child not in others]
        return future

    def _new_pool(self) -> ProcessPoolExecutor:
        self._pool = ProcessPoolExecutor(1, get_context("spawn"))
        return self._pool


@contextlib.contextmanager
def _inherited(environment: dict) -> Iterator[None]:
    """Context manager: processes that are started have these environment variables, and leave Ctrl-C to this one.

    Ctrl-C reaches all processes of a terminal.  Up to Python 3.11, starting the resource tracker unblocks the signal,
    so the tracker must be running already.
    """
    resource_tracker.ensure_running()
    mask, variables = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]), dict(os.environ)
    try:
        os.environ.update(environment)
        yield
    finally:
        os.environ.clear()
        os.environ.update(variables)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


class _Absolute(pickle.Pickler):
    """Pickles paths as absolute ones, because workers of a cluster have another current folder."""

    def reducer_override(self, value):
        return (Path, (os.path.abspath(value),)) if isinstance(value, Path) else NotImplemented


def _packed(task: Task) -> bytes:
    out = os.path.abspath(task.chosen.out)
    buffer = io.BytesIO()
    _Absolute(buffer).dump(replace(task, chosen=Namespace(**vars(task.chosen) | {"out": out})))
    return buffer.getvalue()


def _attempt_there(packed: bytes, threads: int) -> Outcome:
    with limited_threads(threads):
        return attempt(pickle.loads(packed))
