"""Say that kernels are being compiled, which numba does when they are first called, and count them and the seconds.

A first use compiles for up to a minute.  Once it has compiled for NOTICEABLE seconds, a line says so, and another one
when it has ended; in between a terminal or a notebook shows the number of kernels from time to time.  The lines are
warnings of the logger "cutmatch", so Python writes them to standard error in a program that has not configured
logging.  A level of that logger above WARNING turns them off, and so does CUTMATCH_QUIET=1 in the environment.
Processes that multiprocessing has started leave this to their parent.
"""

import atexit
import logging
import multiprocessing
import os
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from numba.core import event

from gridcut.device import kernel_cache
from gridcut.device.carried_kernels import obstacle
from gridcut.device.kernel_folders import kept_in

PACKAGES = ("gridcut", "assign", "matching", "apps")
NOTICEABLE = 1.0  # seconds of compiling before the first line
PAUSE = 2.0  # seconds without compiling after which a first use has ended
PERIOD = 5.0  # seconds between two lines on a terminal
STEP = 0.2  # seconds between two looks

_log = logging.getLogger("cutmatch")
_state: dict[str, Any] = {
    "depth": 0,
    "since": 0.0,
    "seconds": 0.0,
    "ended": 0.0,
}  # numba compiles in one thread at a time
_watch: dict[str, Any] = {"thread": None, "said": False, "count": 0, "seconds": 0.0}


def compile_seconds() -> float:
    """Seconds in which any thread of this process has compiled."""
    running = time.perf_counter() - _state["since"] if _state["depth"] else 0.0
    return _state["seconds"] + running


def compiled_kernels() -> int:
    """Number of kernels that this process has compiled and that are kept, one for each file."""
    return list(kernel_cache.origins.values()).count("compiled")


def explained(count: int) -> str:
    """Text about compiled kernels: where they are kept, and why they did not come with the installation."""
    reason, folder = obstacle(), kept_in()
    kept = f"kept in {folder}" if folder else "not kept, as no folder for them is writable"
    return f"{count} kernels were compiled and {kept}" + (f" ({reason})" if reason else "")


def is_compiling() -> bool:
    """Whether a thread of this process compiles."""
    return _state["depth"] > 0


class _Listener(event.Listener):
    """Measures compilations; those of callees are inside that of their caller."""

    def on_start(self, started) -> None:
        if not _state["depth"]:
            _state["since"] = time.perf_counter()
            function = getattr((started.data or {}).get("dispatcher"), "py_func", None)
            if str(getattr(function, "__module__", "")).partition(".")[0] in PACKAGES:
                _begin_watch()
        _state["depth"] += 1

    def on_end(self, _) -> None:
        if _state["depth"]:  # else it began before this listener
            _state["depth"] -= 1
            if not _state["depth"]:
                _state["ended"] = time.perf_counter()
                _state["seconds"] += _state["ended"] - _state["since"]


def _begin_watch() -> None:
    thread = _watch["thread"]
    if (thread is not None and thread.is_alive()) or multiprocessing.parent_process() is not None:
        return
    if os.environ.get("CUTMATCH_QUIET", "0") != "0" or not _log.isEnabledFor(logging.WARNING):
        return
    _watch.update(said=False, count=compiled_kernels(), seconds=compile_seconds())
    _watch["thread"] = threading.Thread(target=_watch_compiling, name="cutmatch compiling", daemon=True)
    with suppress(RuntimeError):  # no more threads, or the interpreter ends
        _watch["thread"].start()


def _watch_compiling() -> None:
    is_watched = (sys.stderr is not None and sys.stderr.isatty()) or "ipykernel" in sys.modules
    last = time.perf_counter()
    while _state["depth"] or time.perf_counter() - _state["ended"] < PAUSE:
        time.sleep(STEP)
        seconds = compile_seconds() - _watch["seconds"]
        if not _watch["said"] and seconds > NOTICEABLE:
            _watch["said"] = True
            _log.warning(
                "cutmatch: compiling kernels for a first use, once per installation, for up to a minute; "
                "`cutmatch warmup` does it in advance"
            )
        elif _watch["said"] and is_watched and time.perf_counter() - last > PERIOD:
            last = time.perf_counter()
            _log.warning("cutmatch: %d kernels so far, %.0f s", compiled_kernels() - _watch["count"], seconds)
    _say_end()


def _say_end() -> None:
    if _watch["said"]:
        _watch["said"] = False
        count, seconds = compiled_kernels() - _watch["count"], compile_seconds() - _watch["seconds"]
        _log.warning("cutmatch: %s, in %.0f s", explained(count), seconds)


def _forget() -> None:
    """In a forked process, in which no thread watches and none compiles."""
    _watch.update(thread=None, said=False)
    _state["depth"] = 0


event.register("numba:compile", _Listener())
atexit.register(_say_end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
