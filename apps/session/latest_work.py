"""Background work of which only the latest request counts."""

import threading
from collections.abc import Callable


class Superseded(Exception):
    """Raised by the work itself, where it notices that a newer request makes it useless."""


class LatestWork:
    """Run a function in a thread for the latest request; the thread ends when there is none left.

    The function gets `check`, which raises `Superseded` once there is a newer request or `stop` was called.
    """

    def __init__(self, work: Callable[[Callable[..., None]], None]):
        self._work = work
        self._changed = threading.Condition()
        self._wanted = self._done = 0
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    @property
    def is_pending(self) -> bool:
        return self._done != self._wanted

    def request(self) -> None:
        """Ask for the work; what runs for earlier requests is abandoned."""
        with self._changed:
            self._wanted += 1
            self._error = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="cutmatch-session", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Abandon the work, and wait until it has ended."""
        with self._changed:
            self._wanted += 1
            self._done = self._wanted
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the latest request; False if the time is over.  Raises the error that the work raised."""
        if threading.current_thread() is self._thread:
            raise RuntimeError(
                "the work itself, or its callback, cannot wait for its end; call wait from another thread"
            )
        with self._changed:
            done = self._changed.wait_for(lambda: not self.is_pending, timeout)
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            return done

    def _run(self) -> None:
        while True:
            with self._changed:
                ticket = self._wanted
                if self._done == ticket:
                    self._thread = None
                    self._changed.notify_all()
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
            with self._changed:
                if self._wanted == ticket:
                    self._done, self._error = ticket, error
                    self._changed.notify_all()
