"""Seconds by phase of a command and of its methods, compile time apart, and a display of the elapsed time.

One clock measures a whole command, or an item of a batch; `charge` adds to it from anywhere in the same thread.  The
clock of a method, as in `apps.segmentation.segmentation`, measures inside it and charges the same phases to it.  So the
phases of a command add up to its wall time, and no function has to be given a clock.

numba compiles a kernel on its first call, in any thread of the method.  Those seconds are a phase of their own,
"compile", and not part of the phase that made the call.
"""

import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

DISPLAY_DELAY = 2.0  # seconds before the elapsed time is shown
DISPLAY_PERIOD = 0.5  # seconds between two updates
COMPILE, OTHER, START, TOTAL = "compile", "other", "start", "total"  # phases that no method charges

_whole: ContextVar["Clock | None"] = ContextVar("whole", default=None)  # clock of the command or item of this thread
_shown = {"progress": ""}  # of the single item that this process displays


def compile_seconds() -> float:
    """Seconds in which any thread of this process has compiled kernels."""
    compiling = _compiling()
    return compiling.compile_seconds() if compiling else 0.0


def compiled_kernels() -> int:
    """Number of kernels that this process has compiled."""
    compiling = _compiling()
    return compiling.compiled_kernels() if compiling else 0


def _compiling():
    return sys.modules.get("gridcut.device.compiling")  # nothing was compiled before numba was imported


class Clock:
    """Accumulate seconds by phase."""

    def __init__(self):
        charge(OTHER)
        self.start = self.last = time.perf_counter()
        self._compiled = compile_seconds()
        self.seconds = {}

    def charge(self, phase: str) -> None:
        """Add the time since the last call, or since the start, to this phase; compile time to "compile"."""
        self._add(phase)
        whole = _whole.get()
        if whole is not None and whole is not self:
            whole._add(phase)

    def total(self) -> dict[str, float]:
        """Seconds by phase, and "total" since the start."""
        return {**self.seconds, TOTAL: time.perf_counter() - self.start}

    def _add(self, phase: str) -> None:
        now, compiled = time.perf_counter(), compile_seconds()
        fresh, self._compiled = compiled - self._compiled, compiled
        if fresh > 0:
            self.seconds[COMPILE] = self.seconds.get(COMPILE, 0.0) + fresh
        self.seconds[phase] = self.seconds.get(phase, 0.0) + max(0.0, now - self.last - fresh)
        self.last = now


@contextmanager
def whole_clock(age: float = 0.0) -> Iterator[Clock]:
    """Context manager: the clock to which `charge` adds in this thread; the run began `age` seconds ago."""
    clock = Clock()
    clock.start -= age
    if age:
        clock.seconds[START] = age
    token = _whole.set(clock)
    try:
        yield clock
    finally:
        _whole.reset(token)


def charge(phase: str) -> None:
    """Add the time since the last charge to a phase of the command or item that this thread runs, if any."""
    whole = _whole.get()
    if whole is not None:
        whole._add(phase)


@contextmanager
def timed(phase: str) -> Iterator[None]:
    """Context manager or decorator: charge a block to a phase; the time before it is left to the next charge."""
    whole = _whole.get()
    if whole is None:
        yield
        return
    pending = time.perf_counter() - whole.last
    whole.last += pending
    try:
        yield
    finally:
        whole._add(phase)
        whole.last -= pending


def phases(clock: Clock) -> dict[str, float]:
    """Seconds by phase until now; they add up to their "total", which is rounded like them to 0.1 ms."""
    clock._add(OTHER)
    seconds = {phase: round(spent, 4) for phase, spent in clock.seconds.items()}
    if not seconds[OTHER]:
        del seconds[OTHER]
    return {**seconds, TOTAL: round(sum(seconds.values()), 4)}


def shown_seconds(seconds: dict[str, float]) -> str:
    """Text for a method's seconds, such as "3.10 s", or "3.10 s (30.00 s compiling)" after a first use."""
    compiled = seconds.get(COMPILE, 0.0)
    total = seconds[TOTAL] if TOTAL in seconds else sum(seconds.values())
    return f"{total - compiled:.2f} s" + (f" ({compiled:.2f} s compiling)" if compiled >= 0.005 else "")


def process_age() -> float:
    """Seconds since this process was started; since this module was imported where the system does not tell."""
    with suppress(OSError, ValueError, IndexError, AttributeError):
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])  # field 22; the name before it may have spaces
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    return time.perf_counter() - _IMPORTED


def command_age(argv: list[str] | None) -> float:
    """Age of a command with these arguments: that of the process if they are the process's own, else 0."""
    return process_age() if argv in (None, sys.argv[1:], sys.argv[2:]) else 0.0


_IMPORTED = time.perf_counter()


def show_progress(share: float) -> None:
    """Tell the display of the elapsed time which share of the work is done, 0 to 1."""
    _shown["progress"] = f", {100 * share:.0f} %"


@contextmanager
def elapsed_display(quiet: bool, explains: bool = True):
    """Show the elapsed time on standard error if it is a terminal; the line is erased at the end.

    While kernels are compiled it says so, and how many; if it `explains`, a line in the end says where they are kept.
    Elsewhere the lines of gridcut/device/compiling.py say so.
    """
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    log = logging.getLogger("cutmatch")
    was_disabled, log.disabled = log.disabled, True
    done = threading.Event()
    _shown["progress"] = ""

    def tick():
        from tqdm import tqdm

        if not done.wait(DISPLAY_DELAY):
            with tqdm(bar_format="{desc}, {elapsed}{postfix}", file=sys.stderr, leave=False) as bar:
                bar.start_t -= DISPLAY_DELAY
                while not done.wait(DISPLAY_PERIOD):
                    bar.desc, bar.postfix = "working", _shown["progress"]
                    if (compiling := _compiling()) and compiling.is_compiling():
                        bar.desc = f"compiling kernels, first time only: {compiled_kernels() - count}"
                    bar.refresh()

    count = compiled_kernels()
    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        log.disabled = was_disabled
        if explains and compiled_kernels() > count:
            explain_compiling(compiled_kernels() - count)


def explain_compiling(count: int) -> None:
    """Say on standard error that kernels were compiled, and how that is avoided."""
    print(_compiling().explained(count), file=sys.stderr)
