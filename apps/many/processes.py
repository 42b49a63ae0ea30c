"""Run a batch in processes of this machine, one item at a time per process.

With concurrent.futures, one killed process breaks the pool, and all running items are lost.  Here each worker has its
own pipe.  When a worker dies, its pipe is closed; its item is retried in a new process, at most ATTEMPTS times in all,
while the other workers continue.  Workers are spawned, because a process that has used OpenMP or CUDA must not be
forked.

Environment variables limit the threads of a worker and select its GPU; the libraries read them when they are loaded.
"""

import contextlib
import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from multiprocessing import connection, get_context, resource_tracker
from typing import Any

from apps.many import records
from apps.many.task import ATTEMPTS, FAILED, Outcome, Task, attempt

THREAD_LIMITS = (
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENCV_FOR_THREADS_NUM",
)
GPUS = "CUDA_VISIBLE_DEVICES"


def run(tasks: Iterable[Task], environments: list[dict]) -> Iterator[Outcome]:
    """Run tasks in one process per environment; yield outcomes in order of completion.

    When the caller stops, the processes are killed and their unfinished files are removed.
    """
    tasks, unused = iter(tasks), deque(environments)
    workers: list[_Worker] = []
    idle: list[_Worker] = []
    busy: dict[Any, _Worker] = {}  # by the pipe
    try:
        while True:
            while idle or unused:
                task = next(tasks, None)
                if task is None:
                    unused.clear()
                    break
                if not idle:
                    workers.append(_Worker(unused.popleft()))
                    idle.append(workers[-1])
                worker = idle.pop()
                busy[worker.begin(task)] = worker
            if not busy:
                return
            for pipe in connection.wait(list(busy)):
                worker = busy.pop(pipe)
                outcome = worker.end()
                if outcome.retry and outcome.attempts < ATTEMPTS:
                    busy[worker.begin(worker.task, outcome.attempts + 1)] = worker
                    continue
                idle.append(worker)
                yield outcome
    finally:
        for worker in workers:
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
            outcome = Outcome(self.task.number, self.task.shown, FAILED, reason=self._death(), retry=True)
        if outcome.retry:
            self.kill()
        return replace(outcome, attempts=self._attempts)

    def kill(self) -> None:
        """Kill the process and remove its unfinished files."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            records.remove_unfinished(self.task, self._process.pid)
            self._process = None

    def _start(self) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs,), daemon=True)
        # Ctrl-C reaches all processes of a terminal; workers block it and leave it to this process.  Up to Python 3.11,
        # starting the resource tracker unblocks the signal, so the tracker must be running already.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            with _set(self._environment):
                process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
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


@contextlib.contextmanager
def _set(environment: dict):
    """Context manager that sets environment variables for processes started inside it."""
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
