"""Processor seconds that numba's compiler needs for each kernel and its argument types: `first_use --kernels`.

The seconds of a kernel are its own: those of the kernels that it calls, which are compiled inside its compilation, are
counted there.  Functions of numba itself (np.sort, hashes of tuples, ...) are kernels, too, as they cost as much.
Seconds of the thread's processor time vary little on a busy machine; wall clocks do.
"""

import contextlib
import sys
import threading
import time
from pathlib import Path

from numba.core import event

ROOT = Path(__file__).parents[1]


class Listener(event.Listener):
    """Own seconds of each compilation of this process, for numba's event "numba:compile"."""

    def __init__(self):
        self.rows = []  # (kernel, types, own seconds)
        self.listed = []  # {kernel, types, seconds} of gridcut/device/first_use.json, with the kernels that they call
        self._thread = threading.local()

    def on_start(self, _) -> None:
        self._advance().append(0.0)

    def on_end(self, end) -> None:
        running = self._advance()
        if running:  # else it began before this listener
            dispatcher, own = end.data["dispatcher"], running.pop()
            self.rows.append((_name(dispatcher.py_func), str(end.data["args"]), own))
            self._thread.inside += own
            if not running:
                self._list(dispatcher, end.data["args"], self._thread.inside)
                self._thread.inside = 0.0

    def _list(self, dispatcher, kinds, seconds: float) -> None:
        function = dispatcher.py_func
        kernel = getattr(sys.modules[function.__module__], function.__qualname__, None)
        if getattr(kernel, "dispatcher", kernel) is dispatcher:  # else no other process can find it by its name
            with contextlib.suppress(ValueError, ImportError):  # an environment with an earlier version
                from gridcut.device.kernel_types import encoded

                types = [encoded(kind) for kind in kinds]
                place = f"{function.__module__}:{function.__qualname__}"
                self.listed.append({"kernel": place, "types": types, "seconds": round(seconds, 2)})

    def _advance(self) -> list[float]:
        """Add the time since the last event of this thread to the innermost compilation; return the open ones."""
        now = time.thread_time()
        if not hasattr(self._thread, "open"):
            self._thread.open, self._thread.last, self._thread.inside = [], now, 0.0
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
