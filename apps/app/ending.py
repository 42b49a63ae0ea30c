"""The end of the server: within two seconds of Ctrl-C, whatever it computes, and immediately at the second Ctrl-C.

A kernel, a reader or a decoder that runs in a thread cannot be interrupted, and Python waits for its threads at exit.
So a thread that was started before ends the process if that takes too long.  Every confirmed stroke is in its file by
then.  A signal interrupts the program anywhere, also where it holds a lock of `threading`, so the handler only puts the
signal in a queue that is made for this.
"""

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue

from apps.app.live import Live
from apps.common.errors import print_error
from apps.common.writing import remove_unfinished

END_DELAY = 1.7  # seconds from a signal to the end of the process, at most

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Ending:
    """What follows a signal; a context in which it is handled.

    stop   function that lets the server end
    live   the images of the app
    """

    def __init__(self, stop: Callable[[], None], live: Live):
        self._stop, self._live = stop, live
        self._signals: SimpleQueue[int] = SimpleQueue()
        self._first = 0

    def __enter__(self) -> None:
        threading.Thread(target=self._watch, name="cutmatch-ending", daemon=True).start()
        self._before = {
            number: signal.signal(number, self._receive)
            for number in SIGNALS
            if number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN  # as nohup sets it
        }

    def __exit__(self, *exception) -> None:
        """Pass the signal on, once the server has ended."""
        if self._first and self._live.unfinished():
            self._end()
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._first:
            signal.raise_signal(self._first)

    def _receive(self, number: int, frame) -> None:
        self._first = self._first or number
        self._signals.put(number)
        self._stop()

    def _watch(self) -> None:
        """End the process some time after the first signal, or immediately at the second one."""
        self._signals.get()
        with suppress(Empty):
            self._signals.get(timeout=END_DELAY)
        self._end()

    def _end(self) -> None:
        try:
            names = ", ".join(self._live.unfinished()) or "a request"
            print_error(f"cutmatch app: stopped; the work on {names} was not finished, confirmed strokes are kept")
            remove_unfinished(Path(self._live.chosen.out), os.getpid())
        finally:
            os._exit(128 + self._first)
