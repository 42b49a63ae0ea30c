"""Kernels that this process compiles: how many, and for how long.

numba compiles a kernel when it is first called with new types of arguments, and announces it by events.  They are
counted from the first call of a function below that finds numba imported; this module does not import it.
"""

import sys
import threading
import time

_lock = threading.Lock()
_thread = threading.local()  # .seconds that this thread has compiled, .depth of nested compilations, .since
_process = {"listening": False, "count": 0, "running": 0}


def compile_seconds() -> float:
    """Seconds that numba has compiled in this thread."""
    _listen()
    return getattr(_thread, "seconds", 0.0)


def compiled_kernels() -> int:
    """Number of kernels that this process has compiled, with those that they call."""
    _listen()
    return _process["count"]


def compiling() -> str:
    """Text for a display while a thread compiles; an empty string while none does."""
    _listen()
    if not _process["running"]:
        return ""
    first_use = sys.modules.get("gridcut.device.first_use")
    done, known = first_use.progress() if first_use else (0, 0)
    count = f"{done} of {known}" if known else str(_process["count"])
    return f"compiling kernels, first time only: {count}"


def _listen() -> None:
    """Count numba's compilations from now on, if numba has been imported."""
    if _process["listening"] or "numba.core.event" not in sys.modules:
        return
    with _lock:
        if _process["listening"]:
            return
        from numba.core import event

        class Listener(event.Listener):
            """Counts; those of callees are inside that of their caller, so their seconds are not added."""

            def on_start(self, _) -> None:
                _thread.depth = getattr(_thread, "depth", 0) + 1
                _process["count"] += 1  # under numba's compiler lock, as the line below
                _process["running"] += 1
                if _thread.depth == 1:
                    _thread.since = time.perf_counter()

            def on_end(self, _) -> None:
                if getattr(_thread, "depth", 0):  # else it began before this listener
                    _thread.depth -= 1
                    _process["running"] -= 1
                    if not _thread.depth:
                        _thread.seconds = getattr(_thread, "seconds", 0.0) + time.perf_counter() - _thread.since

        event.register("numba:compile", Listener())
        _process["listening"] = True
