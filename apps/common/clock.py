"""Seconds by phase of a command and of its methods, compile time apart, and a display of the elapsed time.

One clock measures a whole command, or an item of a batch: the blocks under `timed` in the same thread, and the phases
of a method's own clock, as in `apps.segmentation.segmentation`.  A block has the seconds that no block or method
inside it has, and what is in none of them is "other".  So the phases of a command add up to its wall time, and no
function has to be given a clock.

numba compiles a kernel on its first call, in any thread of the method.  Those seconds are a phase of their own,
"compile", and not part of the phase that made the call.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

DISPLAY_DELAY = 2.0  # seconds before the elapsed time is shown
DISPLAY_PERIOD = 0.5  # seconds between two updates
COMPILE, OTHER, START, TOTAL = "compile", "other", "start", "total"  # phases that no method charges

_whole: ContextVar["Clock | None"] = ContextVar("whole", default=None)  # clock of the command or item of this thread


def compile_seconds() -> float:
    """Seconds in which any thread of this process has compiled kernels."""
    seconds = _of_store("compile_seconds")
    return seconds() if seconds else 0.0


def compiled_kernels() -> int:
    """Number of kernels that this process has compiled."""
    kernels = _of_store("compiled_kernels")
    return kernels() if kernels else 0


def _of_store(name: str):
    """A function of the store of kernels; None before it has been imported, when nothing is compiled, or meanwhile."""
    return getattr(sys.modules.get("gridcut.device.kernel_store"), name, None)


class Clock:
    """Accumulate seconds by phase."""

    def __init__(self):
        self.start = self._last = time.perf_counter()
        self._compiled, self._charged = compile_seconds(), _charged()
        self.seconds: dict[str, float] = {}

    def charge(self, phase: str) -> None:
        """Add the time since the last call, or since the start, to this phase; compile time to "compile"."""
        now, compiled = time.perf_counter(), compile_seconds()
        spent, compiling = now - self._last, compiled - self._compiled
        self.add(phase, spent, compiling)
        _charge_whole(phase, spent, compiling, self._charged)
        self._last, self._compiled, self._charged = now, compiled, _charged()

    def add(self, phase: str, spent: float, compiling: float) -> None:
        """Add seconds to a phase, those of them that compiled to "compile"."""
        if compiling > 0:
            self.seconds[COMPILE] = self.seconds.get(COMPILE, 0.0) + compiling
        self.seconds[phase] = self.seconds.get(phase, 0.0) + max(0.0, spent - compiling)

    def total(self) -> dict[str, float]:
        """Seconds by phase, and "total" since the start."""
        return {**self.seconds, TOTAL: time.perf_counter() - self.start}


@contextmanager
def whole_clock(age: float = 0.0) -> Iterator[Clock]:
    """Context manager: the clock of this thread, to which `timed` and methods add; the run began `age` seconds ago."""
    clock = Clock()
    clock.start -= age
    if age:
        clock.seconds[START] = age
    token = _whole.set(clock)
    try:
        yield clock
    finally:
        _whole.reset(token)


@contextmanager
def timed(phase: str) -> Iterator[None]:
    """Context manager or decorator: add the seconds of a block to a phase of the command or item of this thread."""
    start, compiled, charged = time.perf_counter(), compile_seconds(), _charged()
    try:
        yield
    finally:
        _charge_whole(phase, time.perf_counter() - start, compile_seconds() - compiled, charged)


def _charged() -> tuple[float, float]:
    """Seconds charged to the clock of this thread until now: all, and those of compiling."""
    whole = _whole.get()
    return (0.0, 0.0) if whole is None else (sum(whole.seconds.values()), whole.seconds.get(COMPILE, 0.0))


def _charge_whole(phase: str, spent: float, compiling: float, before: tuple[float, float]) -> None:
    """Add seconds to the clock of this thread, without those that have been charged since `before`."""
    whole = _whole.get()
    if whole is not None:
        inside, compiled_inside = (now - then for now, then in zip(_charged(), before, strict=True))
        whole.add(phase, spent - inside, compiling - compiled_inside)


def phases(clock: Clock) -> dict[str, float]:
    """Seconds by phase until now; they add up to their "total", which is rounded like them to 0.1 ms."""
    seconds = {phase: round(spent, 4) for phase, spent in clock.seconds.items()}
    if (rest := round(clock.total()[TOTAL] - sum(clock.seconds.values()), 4)) > 0:
        seconds[OTHER] = rest
    return {**seconds, TOTAL: round(sum(seconds.values()), 4)}


def shown_seconds(seconds: dict[str, float]) -> str:
    """Text for a method's seconds, such as "3.10 s", or "3.10 s (30.00 s compiling)" after a first use."""
    compiled = seconds.get(COMPILE, 0.0)
    total = seconds[TOTAL] if TOTAL in seconds else sum(seconds.values())
    return f"{total - compiled:.2f} s" + (f" ({compiled:.2f} s compiling)" if compiled >= 0.005 else "")


def command_age(argv: list[str] | None) -> float:
    """Age of a command: the seconds since this module was imported if the arguments are the process's own, else 0."""
    return time.perf_counter() - _IMPORTED if argv in (None, sys.argv[1:], sys.argv[2:]) else 0.0


_IMPORTED = time.perf_counter()


@contextmanager
def elapsed_display(quiet: bool) -> Iterator[None]:
    """Show the elapsed time on standard error if it is a terminal; the line is erased at the end."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    done = threading.Event()

    def tick():
        from tqdm import tqdm
        from tqdm.contrib.logging import logging_redirect_tqdm  # lines about compiled kernels are above the bar

        if not done.wait(DISPLAY_DELAY):
            with logging_redirect_tqdm(), tqdm(bar_format="working, {elapsed}", file=sys.stderr, leave=False) as bar:
                bar.start_t -= DISPLAY_DELAY
                while not done.wait(DISPLAY_PERIOD):
                    bar.refresh()

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
