"""The end of the server: within two seconds of Ctrl-C, whatever it computes, and immediately at the second Ctrl-C.

A kernel, a reader or a decoder that runs in a thread cannot be interrupted, and Python waits for its threads at exit.
So a timer ends the process if that takes too long.  Every confirmed stroke is in its file by then.
"""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

from apps.app.open_images import OpenImages
from apps.common.errors import print_error
from apps.common.writing import remove_unfinished

END_DELAY = 1.7  # seconds from a signal to the end of the process, at most

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
        if self._signal:
            self._end()
        self._signal = number
        self._timer = threading.Timer(END_DELAY, self._end)
        self._timer.daemon = True
        self._timer.start()
        self._stop()

    def _end(self) -> None:
        try:
            names = ", ".join(self._images.unfinished()) or "a request"
            print_error(f"cutmatch app: stopped; the work on {names} was not finished, confirmed strokes are kept")
            remove_unfinished(Path(self._images.chosen.out), os.getpid())
        finally:
            os._exit(128 + self._signal)
