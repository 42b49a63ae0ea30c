"""Exceptions at every line of a call, and interrupts at random moments: no object may be left between two states.

`lines_of` and `fails_at` trace the Python files of the packages in the calling thread, `interrupted` uses a timer that
acts as Ctrl-C.  A test makes the call fail in all these ways and then continues with the object: its answers must be
right, or an error that says to start again.
"""

import gc
import linecache
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = tuple(f"{ROOT / name}{os.sep}" for name in ("apps", "assign", "gridcut", "matching"))
# Python 3.14 keeps a lock forever, also that of `threading`, if an interrupt arrives right after `with lock:` has
# acquired it (python/cpython#148874).
HAS_TIMER = hasattr(signal, "setitimer") and sys.version_info[:2] != (3, 14)


class Fault(BaseException):
    """What `fails_at` raises; code under test cannot mistake it for an error of its own."""


def lines_of(call: Callable[[], object]) -> list[tuple[str, int]]:
    """The lines of the packages that a call executes, as (file, line), in order and with repetitions."""
    lines = []
    _trace(call, lambda frame: lines.append((frame.f_code.co_filename, frame.f_lineno)))
    return lines


def first_and_last(lines: list) -> list[int]:
    """The indices at which each distinct line is executed first and last, in order."""
    first = {line: k for k, line in reversed(list(enumerate(lines)))}
    last = {line: k for k, line in enumerate(lines)}
    return sorted({*first.values(), *last.values()})


def fails_at(call: Callable[[], object], k: int, error: type[BaseException] = Fault) -> bool:
    """Raise an error before the k-th line of a call, counted as in `lines_of`; whether the call failed with it.

    At a `with`, it is raised before the next line: Python executes that line again after the block, and no interrupt
    comes between the block and the release of a lock.  With threads, lines that were counted before do not tell where.
    False: the call has ended before, or has handled the error.
    """
    left = k

    def count(frame):
        nonlocal left
        left -= 1
        is_with = linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with ")
        if left < 0 and not is_with:  # Python stops tracing when the error leaves this function
            raise error(f"{frame.f_code.co_filename}:{frame.f_lineno}")

    try:
        _trace(call, count)
    except error:
        return True
    return False


def _trace(call, at_line) -> None:
    """Make a call, with at_line(frame) before every line of the packages.

    Finalisers are left out: Python drops an error there, and reports it elsewhere.
    """
    here = sys._getframe()

    def trace_lines(frame, event, _):
        if event == "line":
            at_line(frame)
        return trace_lines

    def trace_calls(frame, *_):
        if not frame.f_code.co_filename.startswith(PACKAGES):
            return None
        caller = frame
        while caller not in (here, None):
            if caller.f_code.co_name == "__del__":
                return None
            caller = caller.f_back
        return trace_lines

    before = sys.gettrace()
    sys.settrace(trace_calls)
    try:
        call()
    finally:
        sys.settrace(before)


def interrupted(call: Callable[[], object], seconds: float, again: float = 0.0) -> bool:
    """Raise KeyboardInterrupt some time after the start of a call, as Ctrl-C does; False: the call ended before.

    again   seconds between repetitions, since Python drops an interrupt that arrives in a finaliser; 0: none
    """
    armed = [True]

    def interrupt(*_):
        if armed[0]:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    collects = gc.isenabled()
    gc.disable()  # an interrupt in the finaliser of a compiled module leaves the lock of LLVM acquired permanently
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, again)
        call()
        armed[0] = False
        return False
    except KeyboardInterrupt:
        return True
    finally:
        armed[0] = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if collects:
            gc.enable()


def alive() -> list:
    """Workers of run_threads; other tests of this process may have left threads of other names."""
    return [one for one in threading.enumerate() if re.fullmatch(r"cutmatch-\d+", one.name) and one.is_alive()]
