"""Background work of which only the latest request counts."""

import threading
import time
from collections.abc import Callable


class Superseded(Exception):
    """Raised by the work itself, where it notices that a newer request makes it useless."""


class LatestWork:
    """Run a function in a thread for the latest request; the thread ends when there is none left.

    The function gets `check`, which raises `Superseded` once there is a newer request or `stop` was called.
    """

    def __init__(self, work: Callable[[Callable[..., None]], None]):
        self._work = work
        # No condition, whose methods are in Python: an interrupt inside them would leave its lock acquired.
        self._lock = threading.Lock()
        self._wanted = self._done = 0
        self._thread: threading.Thread | None = None
        self._gates: list = []  # a lock for each call that waits, released by the thread
        self._error: BaseException | None = None

    @property
    def is_pending(self) -> bool:
        return self._done != self._wanted

    def request(self) -> None:
        """Ask for the work; what runs for earlier requests is abandoned."""
        with self._lock:
            self._start()
            self._error = None
            self._wanted += 1

    def stop(self) -> None:
        """Abandon the work, and wait until it has ended."""
        with self._lock:
            self._wanted = self._done = self._wanted + 1
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the latest request; False if the time is over.  Raises the error that the work raised."""
        if threading.current_thread() is self._thread:
            raise RuntimeError(
                "the work itself, or its callback, cannot wait for its end; call wait from another thread"
            )
        end = None if timeout is None else time.monotonic() + timeout
        while self.is_pending:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return False
            gate = threading.Lock()
            gate.acquire()
            with self._lock:
                self._start()
                self._gates.append(gate)
            gate.acquire(timeout=-1 if left is None else left)
        with self._lock:
            error, self._error = self._error, None
        if error is not None:
            raise error
        return True

    def _start(self) -> None:
        """Start the thread, if there is none; it waits until the lock is released."""
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="cutmatch-session", daemon=True)
            thread.start()
            self._thread = thread

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._thread is not threading.current_thread():
                    return  # an interrupt came before it was known
                ticket = self._wanted
                if self._done == ticket:
                    self._thread = None
                    while self._gates:
                        self._gates.pop().release()
                    return

            def check(*_ignored, ticket=ticket) -> None:
                if self._wanted != ticket:
                    raise Superseded

            error = None
            try:
                self._work(check)
            except Superseded:
                continue
            except BaseException as raised:
                error = raised
            with self._lock:
                if self._wanted == ticket:
                    self._done, self._error = ticket, error
