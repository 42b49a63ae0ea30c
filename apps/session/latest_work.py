"""Background work of which only the latest request counts."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait


class Superseded(Exception):
    """Raised by the work itself, where it notices that a newer request makes it useless."""


class LatestWork:
    """Run a function in a thread for the latest request.

    The function gets `check`, which raises `Superseded` once there is a newer request, `stop` was called, or the
    program ends.
    """

    def __init__(self, work: Callable[[Callable[..., None]], None]):
        self._work = work
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="cutmatch-session")
        self._wanted = 0
        self._last: Future | None = None
        self._thread: int | None = None  # of the work, while it runs

    @property
    def is_pending(self) -> bool:
        return self._last is not None and not self._last.done()

    def request(self) -> None:
        """Ask for the work; what runs for earlier requests is abandoned."""
        self._wanted += 1
        self._last = self._pool.submit(self._run, self._wanted)

    def stop(self) -> None:
        """Abandon the work, and wait until it has ended, unless the work itself calls this."""
        self._wanted += 1
        if self._last is not None and self._thread != threading.get_ident():
            wait([self._last])

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the latest request; False if the time is over.  Raises the error that the work raised."""
        if threading.get_ident() == self._thread:
            raise RuntimeError(
                "the work itself, or its callback, cannot wait for its end; call wait from another thread"
            )
        end = None if timeout is None else time.monotonic() + timeout
        while (last := self._last) is not None:
            if not wait([last], None if end is None else max(0.0, end - time.monotonic())).done:
                return False
            if last is self._last:
                last.result()
                break
        return True

    def _run(self, ticket: int) -> None:
        def check(*_ignored) -> None:
            if self._wanted != ticket or not threading.main_thread().is_alive():  # Python waits for this thread
                raise Superseded

        self._thread = threading.get_ident()
        try:
            check()
            self._work(check)
        except Superseded:
            pass
        finally:
            self._thread = None
