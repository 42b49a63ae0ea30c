"""Run a batch on an existing dask.distributed cluster.

Every worker must have cutmatch installed and access the folders under the same paths.  When a worker dies, dask retries
the item on another worker, up to its own limit (allowed-failures).  For several GPUs, start the workers with dask-cuda,
one per GPU, so that each worker sees only its own GPU.
"""

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import islice
from pathlib import Path

from apps.common.command import limited_threads
from apps.common.errors import InputError, is_defect, reason_of
from apps.common.suggestions import install
from apps.many.task import ATTEMPTS, FAILED, Outcome, Task, attempt

MAX_PENDING_TASKS = 4  # tasks submitted per thread of the cluster before the first result is awaited
CONNECT_TIMEOUT = 20  # seconds to wait for the scheduler


class _Retry(RuntimeError):
    """Makes dask retry a task: the reason, and whether it is a defect of this program."""


def run(tasks: Iterable[Task], address: str, threads: int) -> Iterator[Outcome]:
    """Run tasks on the cluster of the scheduler at `address`, each on `threads` threads; yield outcomes.

    Outcomes are in order of completion.  When the caller stops, pending tasks are cancelled; workers finish running
    tasks.
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
        future = client.submit(_attempt, _with_absolute_paths(task), threads, pure=False, retries=ATTEMPTS - 1)
        sent[future] = task
        return future

    with client:
        tasks = iter(tasks)
        slots = max(1, sum(client.nthreads().values()))
        try:
            first = [send(task) for task in islice(tasks, MAX_PENDING_TASKS * slots)]
            results = as_completed(first, loop=client.loop, raise_errors=False)
            for future in results:
                task = sent.pop(future)
                error = future.exception()
                if error is None:
                    yield future.result()
                else:
                    tried, defect = (ATTEMPTS, error.args[1]) if isinstance(error, _Retry) else (1, _is_defect(error))
                    yield Outcome(task.number, task.shown, FAILED, reason=_reason(error), attempts=tried, defect=defect)
                for task in islice(tasks, 1):
                    results.add(send(task))
        finally:
            client.cancel(list(sent))


def _attempt(task: Task, threads: int) -> Outcome:
    with limited_threads(threads):
        outcome = attempt(task)
    if outcome.retry:
        raise _Retry(outcome.reason, outcome.defect)
    return outcome


def _reason(error: Exception) -> str:
    if isinstance(error, _Retry):
        return error.args[0]
    if _is_killed(error):
        return "every worker that ran it died; they may be short of memory"
    return reason_of(error)


def _is_killed(error: Exception) -> bool:
    return type(error).__name__ == "KilledWorker"


def _is_defect(error: Exception) -> bool:
    return not _is_killed(error) and is_defect(error)


def _with_absolute_paths(task: Task) -> Task:
    """The task with absolute paths, because workers have another current folder."""
    chosen = type(task.chosen)(**{**vars(task.chosen), "out": str(Path(task.chosen.out).absolute())})
    return replace(task, chosen=chosen, job=_absolute(task.job), source=_absolute(task.source))


def _absolute(value):
    if isinstance(value, Path):
        return value.absolute()
    if isinstance(value, list | tuple):
        return type(value)(map(_absolute, value))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: _absolute(getattr(value, field.name)) for field in fields(value)})
    return value
