"""The first use of a job: several processes compile its kernels, since numba compiles one at a time per process.

`first_use.json` lists the kernels of common jobs, with the types of their arguments and the seconds of the compiler.
When a listed kernel is neither in the cache nor carried by the package, worker processes compile the other kernels of
its jobs, the slowest first, and save them in the cache.  This process compiles what no worker has begun, and waits for
what a worker is compiling.  The list is a hint: a kernel that is missing there, or listed with types that no call has,
costs time only.

CUTMATCH_COMPILERS=N in the environment sets the number of workers, 0 for none; the default is one per other core, at
most 8.  Processes of multiprocessing, which share the cores already, start none; nor does one without a folder for
kernels.
"""

import json
import multiprocessing
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gridcut.device.kernel_types import encoded

ROOT = str(Path(__file__).resolve().parents[2])
LIST = Path(__file__).with_name("first_use.json")
MAX_WORKERS = 8  # the slowest kernel of a job takes a third of the time of all; each worker needs 200 MB


class _Task(NamedTuple):
    """A kernel that a worker compiles, or will."""

    line: str  # "module:function" and the types of its arguments, as JSON
    seconds: float
    jobs: frozenset
    is_done: threading.Event  # by a worker, or left to this process


_lock = threading.Lock()
_tasks: dict[str, _Task] = {}  # by line
_queue: list[_Task] = []  # those that no process has begun
_likely: set[str] = set()  # jobs that need the kernels requested so far
_running = [0]  # number of workers
_known: dict[str, _Task] | None = None  # the list, by line; None before it is read


def wait_for(place: str, kinds) -> bool:
    """Whether a worker has just compiled this kernel; if none has begun, this process has to compile it.

    Parameters
    ----------
    place : str
        "module:function".
    kinds : tuple of numba types
        The types of its arguments.
    """
    try:
        line = json.dumps([place, list(map(encoded, kinds))])
    except ValueError:
        return False
    with _lock:
        task = _tasks.get(line) or _begin(line)
        if task is None:
            return False
        _narrow(task.jobs)
        if task in _queue:  # a worker would begin later than this process
            _queue.remove(task)
            task.is_done.set()
            return False
    task.is_done.wait()
    return True


def progress() -> tuple[int, int]:
    """The number of kernels of the list that are compiled, and that the present jobs need."""
    tasks = list(_tasks.values())
    return sum(task.is_done.is_set() for task in tasks), len(tasks)


def _begin(line: str) -> _Task | None:
    """Queue the kernels of the jobs that need the kernel of `line`, and start workers for them."""
    global _known
    workers = _worker_count()
    if _known is None:
        _known = _read() if workers else {}
    if line not in _known:
        return None
    for row in _known.values():
        if row.jobs & _known[line].jobs and row.line not in _tasks:
            _tasks[row.line] = row
            _queue.append(row)
    with suppress(RuntimeError):  # no more threads, or the interpreter ends: this process compiles all kernels
        for _ in range(min(workers, len(_queue) - 1) - _running[0]):
            threading.Thread(target=_serve, name="cutmatch first use", daemon=True).start()
            _running[0] += 1
    return _tasks[line]


def _narrow(jobs: frozenset) -> None:
    """One more kernel is requested, which belongs to these jobs: only a few jobs need all of them."""
    common = _likely & jobs or jobs
    _likely.clear()
    _likely.update(common)


def _read() -> dict[str, _Task]:
    try:
        rows = json.loads(LIST.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    tasks = (
        _Task(json.dumps([row["kernel"], row["types"]]), row["seconds"], frozenset(row["jobs"]), threading.Event())
        for row in rows
    )
    return {task.line: task for task in tasks}


def _worker_count() -> int:
    if multiprocessing.parent_process() is not None or "python" not in Path(sys.executable or "").name.lower():
        return 0  # one of several processes, or a program that contains Python and is not Python
    if (wanted := os.environ.get("CUTMATCH_COMPILERS", "")).isdecimal() and len(wanted) < 10:
        return int(wanted)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MAX_WORKERS, cores - 1)


def _serve() -> None:
    """Give the tasks of the queue to a worker process, one after the other."""
    # As imports do.  ROOT comes last, because it may hold old copies of modules of the standard library.
    path = os.pathsep.join(part for part in (*sys.path, ROOT) if part and isinstance(part, str))
    environment = {**os.environ, "PYTHONPATH": path, "CUTMATCH_COMPILERS": "0"}
    command = [sys.executable, "-P", "-m", "gridcut.device.compile_worker"]
    try:
        worker = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
        )
    except OSError:  # this process compiles all kernels
        worker = None
    # It starts for half a second.  Then more is known of the job that runs.
    is_alive = worker is not None and bool(worker.stdout.readline())
    while is_alive and (task := _next_task()):
        try:
            worker.stdin.write(task.line + "\n")
            worker.stdin.flush()
            is_alive = bool(worker.stdout.readline())
        except OSError:
            is_alive = False
        finally:
            task.is_done.set()
    if worker is not None:
        worker.communicate()
    with _lock:
        _running[0] -= 1


def _next_task() -> _Task | None:
    """The slowest kernel of the likely jobs; None if none is left."""
    with _lock:
        likely = [task for task in _queue if task.jobs & _likely]
        if not likely:
            return None
        task = max(likely, key=lambda task: task.seconds * len(task.jobs & _likely))
        _queue.remove(task)
        return task


def _forget() -> None:
    """In a forked process, which has none of the threads above and must not wait for them."""
    global _lock
    _lock = threading.Lock()
    _tasks.clear()
    _queue.clear()
    _likely.clear()
    _running[0] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
