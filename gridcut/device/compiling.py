"""Say that kernels are being compiled, which numba does when they are first called, and count them and the seconds.

A first use compiles for up to a minute.  Once it has compiled for NOTICEABLE seconds, a line says so, and another one
when it has ended.  The lines are warnings of the logger "cutmatch", so Python writes them to standard error in a
program that has not configured logging.  A level of that logger above WARNING turns them off, and so does
CUTMATCH_QUIET=1 in the environment.  Processes that multiprocessing has started leave this to their parent.
"""

import atexit
import logging
import multiprocessing
import os
import threading
import time
from contextlib import suppress

from numba.core import event

from gridcut.device.kernel_store import PACKAGES, kept_in, obstacle, origins

NOTICEABLE = 1.0  # seconds of compiling before the first line
PAUSE = 2.0  # seconds without compiling after which a first use has ended
STEP = 0.2  # seconds between two looks

_log = logging.getLogger("cutmatch")


class _Listener(event.Listener):
    """Measures compilations, one at a time in a process; those of callees are inside that of their caller."""

    def __init__(self):
        self.depth, self.since, self.ended, self.seconds = 0, 0.0, 0.0, 0.0
        self.watch: threading.Thread | None = None
        self.said: tuple[int, float] | None = None  # kernels and seconds before the first use that a line announced

    def on_start(self, started) -> None:
        self.depth += 1
        if self.depth == 1:
            self.since = time.perf_counter()
            function = getattr((started.data or {}).get("dispatcher"), "py_func", None)
            if str(getattr(function, "__module__", "")).partition(".")[0] in PACKAGES:
                self._begin_watch()

    def on_end(self, _) -> None:
        if self.depth:  # else it began before this listener
            self.depth -= 1
            if not self.depth:
                self.ended = time.perf_counter()
                self.seconds += self.ended - self.since

    def _begin_watch(self) -> None:
        if (self.watch is not None and self.watch.is_alive()) or multiprocessing.parent_process() is not None:
            return
        if os.environ.get("CUTMATCH_QUIET", "0") != "0" or not _log.isEnabledFor(logging.WARNING):
            return
        before = compiled_kernels(), compile_seconds()
        self.watch = threading.Thread(target=self._watch, args=before, name="cutmatch compiling", daemon=True)
        with suppress(RuntimeError):  # no more threads, or the interpreter ends
            self.watch.start()

    def _watch(self, *before) -> None:
        is_said = False  # once: at exit, `say_end` may come before this thread has ended
        while self.depth or time.perf_counter() - self.ended < PAUSE:
            time.sleep(STEP)
            if not is_said and compile_seconds() - before[1] > NOTICEABLE:
                is_said, self.said = True, before
                _log.warning(
                    "cutmatch: compiling kernels for a first use, once per installation, for up to a minute; "
                    "`cutmatch warmup` does it in advance"
                )
        self.say_end()

    def say_end(self) -> None:
        """The second line, after the first."""
        if self.said is not None:
            (count, seconds), self.said = self.said, None
            what = explained(compiled_kernels() - count)
            _log.warning("cutmatch: %s, in %.0f s", what, compile_seconds() - seconds)

    def forget(self) -> None:
        """In a forked process, in which no thread watches and none compiles."""
        self.depth, self.watch, self.said = 0, None, None


_listener = _Listener()
event.register("numba:compile", _listener)
atexit.register(_listener.say_end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_listener.forget)


def compile_seconds() -> float:
    """Seconds in which any thread of this process has compiled."""
    return _listener.seconds + (time.perf_counter() - _listener.since if _listener.depth else 0.0)


def compiled_kernels() -> int:
    """Number of kernels that this process has compiled and that are kept, one for each file."""
    return list(origins.values()).count("compiled")


def is_compiling() -> bool:
    """Whether a thread of this process compiles."""
    return _listener.depth > 0


def explained(count: int) -> str:
    """Text about compiled kernels: where they are kept, and why they did not come with the installation."""
    reason, folder = obstacle(), kept_in()
    kept = f"kept in {folder}" if folder else "not kept, as no folder for them is writable"
    return f"{count} kernels were compiled and {kept}" + (f" ({reason})" if reason else "")
