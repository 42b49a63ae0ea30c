"""Processor seconds that numba's compiler needs for each kernel and its argument types: `first_use --kernels`.

The seconds of a kernel are its own: those of the kernels that it calls, which are compiled inside its compilation, are
counted there.  Functions of numba itself (np.sort, hashes of tuples, ...) are kernels, too, as they cost as much.
Seconds of the thread's processor time vary little on a busy machine; wall clocks do.
"""

import threading
import time
from pathlib import Path

from numba.core import event

ROOT = Path(__file__).parents[1]


class Listener(event.Listener):
    """Own seconds of each compilation of this process, for numba's event "numba:compile"."""

    def __init__(self):
        self.rows = []  # (kernel, types, own seconds)
        self._thread = threading.local()

    def on_start(self, _) -> None:
        self._advance().append(0.0)

    def on_end(self, end) -> None:
        running = self._advance()
        if running:  # else it began before this listener
            self.rows.append((_name(end.data["dispatcher"].py_func), str(end.data["args"]), running.pop()))

    def _advance(self) -> list[float]:
        """Add the time since the last event of this thread to the innermost compilation; return the open ones."""
        now = time.thread_time()
        if not hasattr(self._thread, "open"):
            self._thread.open, self._thread.last = [], now
        running = self._thread.open
        if running:
            running[-1] += now - self._thread.last
        self._thread.last = now
        return running


def _name(function) -> str:
    path = Path(function.__code__.co_filename)
    if path.is_relative_to(ROOT):
        place = path.relative_to(ROOT).with_suffix("").as_posix()
    else:
        place = "/".join(path.with_suffix("").parts[-2:])
    return f"{place}:{function.__name__}"


def listen() -> Listener:
    """Measure all compilations of this process from now on."""
    listener = Listener()
    event.register("numba:compile", listener)
    return listener


def lines(rows) -> list[str]:
    """One line per kernel and types, the most expensive first; at the end the sum."""
    ordered = sorted(rows, key=lambda row: -row[2])
    text = [f"  {seconds:6.2f}  {kernel}  {types}" for kernel, types, seconds in ordered]
    return [*text, f"  {sum(row[2] for row in rows):6.2f}  in total, {len(rows)} kernels"]
