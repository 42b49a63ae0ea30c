"""A lock on a file that ends with its process, so that a crash leaves nothing behind that had to be removed."""

import errno
import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

    fcntl = None

TAKEN = frozenset((errno.EACCES, errno.EAGAIN, errno.EDEADLK))


class FileLock:
    """A lock that one object of one process holds at a time.

    Without effect if the file system has no locks, or no file can be written there.  The file remains: if it were
    removed, a process that had just opened it would lock a file that others no longer find.
    """

    def __init__(self, path: Path):
        self._path = path
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Take the lock, if that is possible; False if it is taken."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:
            return True
        try:
            _lock(descriptor)
        except OSError as error:
            os.close(descriptor)
            return error.errno not in TAKEN
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Give the lock back, if it is held."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    __del__ = release


def _lock(descriptor: int) -> None:
    """Lock a file; OSError if another descriptor has locked it."""
    if fcntl is None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
