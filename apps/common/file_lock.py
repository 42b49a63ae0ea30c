"""A lock on a file that ends with its process, so that a crash leaves nothing behind that had to be removed."""

import contextlib
import errno
import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

    fcntl = None  # type: ignore[assignment]  # the absence of a module

TAKEN = frozenset((errno.EACCES, errno.EAGAIN, errno.EDEADLK))


class FileLock:
    """A lock that one object of one process holds at a time.

    Without effect if the file system has no locks, or no file can be written there.  The holder removes the file.  A
    process that had just opened it would lock a file that others no longer find, so it opens the next one.
    """

    def __init__(self, path: Path):
        self._path = path
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Take the lock, if that is possible; False if it is taken."""
        while True:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError:
                return True
            try:
                _lock(descriptor)
                if os.path.samestat(os.fstat(descriptor), os.stat(self._path)):
                    self._descriptor = descriptor
                    return True
                os.close(descriptor)
            except FileNotFoundError:
                os.close(descriptor)
            except OSError as error:
                os.close(descriptor)
                return error.errno not in TAKEN
            except BaseException:  # Ctrl-C
                os.close(descriptor)
                raise

    def release(self) -> None:
        """Give the lock back, if it is held."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with contextlib.suppress(OSError):  # Windows: it is open
                self._path.unlink()
            os.close(descriptor)

    __del__ = release


def _lock(descriptor: int) -> None:
    """Lock a file; OSError if another descriptor has locked it."""
    if fcntl is None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
