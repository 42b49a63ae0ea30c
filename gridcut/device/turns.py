"""Processes that need the same kernel compile it once: one takes its turn, and the others wait for the file.

Without turns, eight processes that start together, as those of pytest-xdist or dask, compile every kernel eight times.
A turn is a lock on a file beside the kernels.  It ends with the process at the latest; a process that has waited for
MOST_SECONDS compiles the kernel itself.  Where files cannot be locked (Windows), no process waits.
"""

import os
import time
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

MOST_SECONDS = 60.0
CHECKED_EVERY = 0.02  # seconds

_held: dict[Path, int] = {}  # descriptors of the files that this process has locked


def take(path: Path) -> bool:
    """Take the turn of a file; returns whether another process had it, which may have saved the kernel since."""
    if fcntl is None or path in _held:
        return False
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return False
    end = time.monotonic() + MOST_SECONDS
    waited = False
    while time.monotonic() < end:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waited = True
            time.sleep(CHECKED_EVERY)
        except OSError:  # a file system without locks
            break
        else:
            _held[path] = descriptor
            return waited
    os.close(descriptor)
    return waited


def give_back(path: Path) -> None:
    """End this process's turn, if it has it."""
    descriptor = _held.pop(path, None)
    if descriptor is not None:
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)
