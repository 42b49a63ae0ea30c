"""Locks that a forked process finds free: a fork waits until no other thread holds them.

A fork copies the calling thread only, so a lock that another thread holds would never be released in the new process.
A thread may compile a kernel while it holds such a lock.  So a fork waits for these locks before it waits for numba's
(gridcut/device/fork.py): Python calls what was registered last first.
"""

import os
import threading
import weakref

import gridcut.device.fork  # noqa: F401

_locks: weakref.WeakSet = weakref.WeakSet()
_held: list = []


def lock_kept_at_forks():
    """A new reentrant lock."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def _acquire() -> None:
    _held[:] = list(_locks)
    for lock in _held:
        lock.acquire()


def _release() -> None:
    while _held:
        _held.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_acquire, after_in_parent=_release, after_in_child=_release)
