"""Interrupts that wait until a step is whole.

LLVM calls numba back while it finalises machine code, and a KeyboardInterrupt that Python raises in such a call ends
the process with a segmentation fault.  So does one between two lines of llvmlite that free a string.  The handlers of
signals wait there; a step takes milliseconds.
"""

import signal
import threading

# Those whose handlers raise, on Ctrl-C, at the end of a service and after a time limit.
_NUMBERS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGBREAK") if hasattr(signal, name)]


class deferred:
    """A context in which signals are noted; their handlers, those in Python, run when it ends.

    Handlers run in the main thread only, so in other threads there is nothing to defer.
    """

    def __enter__(self):
        self._handlers, self._arrived = {}, {}
        if threading.current_thread() is threading.main_thread():
            try:
                for number in _NUMBERS:
                    handler = signal.getsignal(number)
                    if callable(handler):
                        self._handlers[number] = handler
                        signal.signal(number, self._note)
            except BaseException:  # an interrupt between two signals
                self._restore()
                raise

    def __exit__(self, *_):
        try:
            self._restore()
        finally:  # again, if a handler that has just been restored interrupted it
            self._restore()
        for number, frame in self._arrived.items():
            self._handlers[number](number, frame)

    def _note(self, number, frame):
        self._arrived[number] = frame

    def _restore(self):
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
