"""Seconds of a command and of its methods, those of compiling apart, and a display of the elapsed time.

numba compiles a kernel on its first call, in any thread.  The seconds of all threads of the process count.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

DISPLAY_DELAY = 2.0  # seconds before the elapsed time is shown
DISPLAY_PERIOD = 0.5  # seconds between two updates


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
    """The seconds since it was made, or since `age` seconds before."""

    def __init__(self, age: float = 0.0):
        self._start, self._compiled = time.perf_counter() - age, compile_seconds()

    def total(self) -> dict[str, float]:
        """{"compile": seconds of compiling, "total": all}, rounded to 0.1 ms."""
        seconds = {"compile": compile_seconds() - self._compiled, "total": time.perf_counter() - self._start}
        return {name: round(value, 4) for name, value in seconds.items()}


def shown_seconds(seconds: dict[str, float]) -> str:
    """Text for the seconds of a clock, such as "3.10 s", or "3.10 s (30.00 s compiling)" after a first use."""
    compiled = seconds["compile"]
    return f"{seconds['total'] - compiled:.2f} s" + (f" ({compiled:.2f} s compiling)" if compiled >= 0.005 else "")


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
