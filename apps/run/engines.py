"""Run the items of a batch: in threads of this process, in processes of this machine, or on a dask.distributed cluster.

A task consists of plain data and a module-level function, so it can be pickled, and `attempt` is the same code in all
engines.  Its result is an `Outcome`.  An error is returned as text, because not all exceptions of other libraries can
be pickled.  Every engine is a function of the tasks, which it draws on demand, because those of a video contain its
frames; it yields outcomes in order of completion.

In processes, each worker has its own pipe.  When a worker dies, its pipe is closed; its item is retried in a new
process, while the others continue.  (With concurrent.futures, one killed process breaks the pool, and all running
items are lost.) Workers are spawned, because a process that has used OpenMP or CUDA must not be forked.  Environment
variables limit the threads of a worker and select its GPU; the libraries read them when they are loaded.

Every worker of a cluster must have cutmatch installed and access the folders under the same paths.  For several GPUs,
start the workers with dask-cuda, one per GPU, so that each worker sees only its own GPU.
"""

import contextlib
import os
import signal
from argparse import Namespace
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import islice
from multiprocessing import connection, get_context, resource_tracker
from pathlib import Path
from typing import Any

from apps.common import writing
from apps.common.clock import whole_clock
from apps.common.command import limit_threads, limited_threads
from apps.common.errors import InputError, is_defect, reason_of
from apps.common.outputs import check_regular_files
from apps.common.suggestions import install

DONE, SKIPPED, FAILED = "done", "skipped", "failed"
ATTEMPTS = 3  # including the first
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


@dataclass(frozen=True, slots=True)
class Task:
    """`function(job, chosen)` reads, computes and writes an item, and returns its report.

    `function` is defined in a module, so that other processes can import it.  `job` contains the item's paths, numbers
    and arrays.  `inputs` are the options of `chosen` that name inputs; `job` represents them.  For the
    record, `source` is that of the item, and `options` are the options as parsed.
    """

    number: int
    name: str
    shown: str
    command: str
    function: Callable
    job: object
    chosen: Namespace
    inputs: tuple[str, ...] = ()
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
    retry: bool = False  # whether another attempt might succeed
    attempts: int = 1
    defect: bool = False  # whether the failure is a defect of this program

    @property
    def explained(self) -> str:
        """The reason, and how often it was tried."""
        return self.reason + (f" (tried {self.attempts} times)" if self.attempts > 1 else "")


def attempt(task: Task) -> Outcome:
    """Run a task, unless `--resume` finds its record up to date; errors become an outcome."""
    from apps.run import records

    try:
        with whole_clock() as clock:
            check_regular_files(task.job)
            inputs = records.given(task)
            if task.chosen.resume and (report := records.finished(task, inputs)) is not None:
                return Outcome(task.number, task.shown, SKIPPED, report)
            report = task.function(task.job, task.chosen)
            records.complete(task, report, inputs, clock)
            return Outcome(task.number, task.shown, DONE, report)
    except InputError as error:  # another attempt would reject the same input
        return failed(task, str(error))
    except Exception as error:  # no error may stop the other items
        return failed(task, reason_of(error), retry=True, defect=is_defect(error))


def failed(task: Task, reason: str, **facts) -> Outcome:
    """The outcome of a task that failed."""
    return Outcome(task.number, task.shown, FAILED, reason=reason, **facts)


def in_threads(tasks: Iterable[Task], concurrent_items: int, threads_per_item: int | None) -> Iterator[Outcome]:
    """Run `concurrent_items` tasks at a time, each on `threads_per_item` threads (None: no limit); yield outcomes.

    When the caller stops, running items are finished, and no other is started.
    """
    limit = () if threads_per_item is None else (limit_threads, (threads_per_item,))
    pool = ThreadPoolExecutor(concurrent_items, "cutmatch", *limit)
    waiting: set = set()
    try:
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


def in_processes(tasks: Iterable[Task], environments: list[dict]) -> Iterator[Outcome]:
    """Run tasks in one process per environment; yield outcomes.

    When the caller stops, the processes are killed and their unfinished files are removed.
    """
    tasks = iter(tasks)
    idle = deque(_Worker(environment) for environment in environments)  # in order: a process starts with its first task
    busy: dict[Any, _Worker] = {}  # by the pipe
    try:
        while True:
            for task in islice(tasks, len(idle)):
                worker = idle.popleft()
                busy[worker.begin(task)] = worker
            if not busy:
                return
            for pipe in connection.wait(list(busy)):
                worker = busy.pop(pipe)
                outcome = worker.end()
                if outcome.retry and outcome.attempts < ATTEMPTS:
                    busy[worker.begin(worker.task, outcome.attempts + 1)] = worker
                    continue
                idle.appendleft(worker)
                yield outcome
    finally:
        for worker in (*idle, *busy.values()):
            worker.kill()


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


class _Worker:
    """A process that is started on first use, and restarted after it has died or failed."""

    def __init__(self, environment: dict):
        self._environment = environment
        self._process: Any = None  # set together with the pipe, before the first task is sent
        self._pipe: Any = None
        self.task: Any = None
        self._attempts = 0

    def begin(self, task: Task, attempts: int = 1):
        """Send a task; return the pipe that signals its outcome or the end of the process."""
        self.task, self._attempts = task, attempts
        if self._process is None:
            self._start()
        with contextlib.suppress(OSError):  # `end` detects that the process has died
            self._pipe.send(task)
        return self._pipe

    def end(self) -> Outcome:
        """Receive the outcome of the task; after a failure to be retried, the process is killed."""
        try:
            outcome = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            outcome = failed(self.task, self._death(), retry=True)
        if outcome.retry:
            self.kill()
        return replace(outcome, attempts=self._attempts)

    def kill(self) -> None:
        """Kill the process and remove its unfinished files."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            writing.remove_unfinished(Path(self.task.chosen.out), self._process.pid)
            self._process = None

    def _start(self) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs,), daemon=True)
        # Ctrl-C reaches all processes of a terminal; workers block it and leave it to this process.  Up to Python 3.11,
        # starting the resource tracker unblocks the signal, so the tracker must be running already.
        resource_tracker.ensure_running()
        mask, variables = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]), dict(os.environ)
        try:
            os.environ.update(self._environment)
            process.start()
        finally:
            os.environ.clear()
            os.environ.update(variables)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        self._process = process  # set only now: a process that Ctrl-C prevented from starting cannot be killed
        theirs.close()

    def _death(self) -> str:
        code = self._process.exitcode
        if code >= 0:
            return f"its process ended with status {code}"
        hint = "; this machine may be short of memory, use fewer --workers" if -code == signal.SIGKILL else ""
        return f"its process was killed by {signal.Signals(-code).name}{hint}"


def _serve(pipe) -> None:
    """Main loop of a worker: receive tasks and send outcomes until the pipe is closed."""
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            pipe.send(attempt(pipe.recv()))


def on_cluster(tasks: Iterable[Task], address: str, threads: int) -> Iterator[Outcome]:
    """Run tasks on the cluster of the scheduler at `address`, each on `threads` threads; yield outcomes.

    When a worker dies, dask retries the item on another worker, up to its own limit (allowed-failures).  When the
    caller stops, pending tasks are cancelled; workers finish running tasks.
    """
    try:
        from distributed import Client, as_completed
    except ImportError:
        hint = install("dask", "'dask[distributed]'")
        raise InputError(f"--scheduler requires dask.distributed; {hint}") from None
    try:
        client = Client(address, timeout=CONNECT_TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as reason:
        raise InputError(f"--scheduler: no cluster at {address!r} ({reason}); start one, or use --workers") from None
    sent = {}

    def send(task):
        future = client.submit(_retried, _with_absolute_paths(task), threads, pure=False, retries=ATTEMPTS - 1)
        sent[future] = task
        return future

    with client:
        tasks = iter(tasks)
        slots = max(1, sum(client.nthreads().values()))
        try:
            first = [send(task) for task in islice(tasks, MAX_PENDING_TASKS * slots)]
            results = as_completed(first, loop=client.loop, raise_errors=False)
            for future in results:
                task, error = sent.pop(future), future.exception()
                yield future.result() if error is None else _failed_on_cluster(task, error)
                for task in islice(tasks, 1):
                    results.add(send(task))
        finally:
            client.cancel(list(sent))


class _Retry(RuntimeError):
    """Makes dask retry a task: the reason, and whether it is a defect of this program."""


def _retried(task: Task, threads: int) -> Outcome:
    with limited_threads(threads):
        outcome = attempt(task)
    if outcome.retry:
        raise _Retry(outcome.reason, outcome.defect)
    return outcome


def _failed_on_cluster(task: Task, error) -> Outcome:
    if isinstance(error, _Retry):
        return failed(task, error.args[0], attempts=ATTEMPTS, defect=error.args[1])
    if type(error).__name__ == "KilledWorker":
        return failed(task, "every worker that ran it died; they may be short of memory")
    return failed(task, reason_of(error), defect=is_defect(error))


def _with_absolute_paths(value):
    """A copy of a task, or of a part of it, with absolute paths, because workers have another current folder."""
    if isinstance(value, Path):
        return value.absolute()
    if isinstance(value, Namespace):
        return Namespace(**vars(value) | {"out": str(Path(value.out).absolute())})
    if isinstance(value, dict):
        return {key: _with_absolute_paths(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        parts = map(_with_absolute_paths, value)
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value, **{field.name: _with_absolute_paths(getattr(value, field.name)) for field in fields(value)}
        )
    return value
