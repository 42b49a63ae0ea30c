"""The sessions of clients, each with a token.

A session ends when its client releases it, shows no sign of life, or has done nothing for long: a client sends signs
of life by itself, which do not count as work.
"""

import secrets
import threading
import time

from nninteractive_cutmatch.prompts import Prompts


class Full(Exception):
    """No further session is allowed."""


class Gone(Exception):
    """The session has ended, or never was."""


class Lease:
    """The session of one client; `lock` is held while it is used."""

    def __init__(self):
        self.prompts, self.lock = Prompts(), threading.Lock()
        self.seen = self.used = time.monotonic()


class Leases:
    """Sessions by token.

    most     sessions at a time
    idle     seconds without work after which one ends
    alive    seconds without a sign of life after which one ends
    """

    def __init__(self, most: int, idle: float, alive: float):
        self.most, self.idle, self.alive = most, idle, alive
        self._leases: dict[str, Lease] = {}
        self._lock = threading.Lock()

    def claim(self) -> str:
        """The token of a new session."""
        self.end_old()
        with self._lock:
            if len(self._leases) >= self.most:
                raise Full
            token = secrets.token_hex(16)
            self._leases[token] = Lease()
            return token

    def get(self, token: str | None, is_work: bool = False, is_alive: bool = True) -> Lease:
        """The session of a token, which shows a sign of life, or is used."""
        with self._lock:
            lease = self._leases.get(token or "")
        if lease is None:
            raise Gone
        now = time.monotonic()
        lease.seen = now if is_alive else lease.seen
        lease.used = now if is_work else lease.used
        return lease

    def remaining(self, lease: Lease) -> float:
        """Seconds until a session ends without work."""
        return max(0.0, self.idle - (time.monotonic() - lease.used))

    def release(self, token: str | None) -> None:
        """End a session, if it exists."""
        with self._lock:
            lease = self._leases.pop(token or "", None)
        if lease is not None:
            with lease.lock:
                lease.prompts.close()

    def end_old(self) -> None:
        """End the sessions whose time is over."""
        now = time.monotonic()
        with self._lock:
            old = [t for t, one in self._leases.items() if now - one.seen > self.alive or now - one.used > self.idle]
        for token in old:
            self.release(token)

    def end_all(self) -> None:
        """End all sessions."""
        for token in list(self._leases):
            self.release(token)
