"""The end of the server: within two seconds of Ctrl-C, whatever it computes, and immediately at the second Ctrl-C.

A kernel, a reader or a decoder that runs in a thread cannot be interrupted, and Python waits for its threads at exit.
So a timer ends the process if that takes too long.  Every confirmed stroke is in a journal by then, unless the disk is
full: then the timer waits until the strokes can be written elsewhere.
"""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

from apps.app.open_images import OpenImages
from apps.app.stroke_files import COMMAND
from apps.common.errors import SOME_FAILED, print_error
from apps.common.outputs import FOLDER
from apps.common.writing import remove_unfinished

END_DELAY = 1.7  # seconds from a signal to the end of the process, at most
RESCUE_DELAY = 10.0  # further seconds while strokes could not be written to the journal

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Ending:
    """What follows a signal; a context in which it is handled.

    stop     function that lets the server end
    images   those of the app
    """

    def __init__(self, stop: Callable[[], None], images: OpenImages):
        self._stop, self._images = stop, images
        self._timer: threading.Timer | None = None
        self._signal = 0

    def __enter__(self) -> None:
        self._before = {
            number: signal.signal(number, self._receive)
            for number in SIGNALS
            if number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN  # as nohup sets it
        }

    def __exit__(self, *exception) -> None:
        """Pass the signal on, once the server has ended."""
        if self._signal and self._images.unfinished():
            self._end()
        if self._timer is not None:
            self._timer.cancel()
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._signal:
            signal.raise_signal(self._signal)

    def _receive(self, number: int, frame) -> None:
        """End the process soon, or immediately if this is the second signal."""
        if self._signal and self._images.has_unsaved:
            self._images.hurry = True  # its strokes are not in a journal, because the disk is full
        elif self._signal:
            self._end()
        else:
            self._signal = number
            self._start_timer(END_DELAY, self._expire)
            self._stop()

    def _start_timer(self, seconds: float, call: Callable[[], None]) -> None:
        self._timer = threading.Timer(seconds, call)
        self._timer.daemon = True
        self._timer.start()

    def _expire(self) -> None:
        """End the process, or later if strokes would be lost."""
        if self._images.has_unsaved:
            self._start_timer(RESCUE_DELAY, self._end)
        else:
            self._end()

    def _end(self) -> None:
        status = SOME_FAILED if self._images.has_unsaved else 128 + self._signal
        try:
            names = ", ".join(self._images.unfinished()) or "a request"
            kept = "" if self._images.has_unsaved else ", confirmed strokes are kept"
            print_error(f"cutmatch app: stopped; the work on {names} was not finished{kept}")
            out = Path(self._images.chosen.out)
            for folder in (out, out / FOLDER, out / FOLDER / COMMAND):
                remove_unfinished(folder, os.getpid())
        finally:
            os._exit(status)
