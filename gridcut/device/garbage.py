"""Compilation without Python's cyclic garbage collector.

The compiler makes a million small objects that live until it ends.  To search them for garbage again and again takes an
eighth of the time of a compilation, and more in a process that holds many objects.
"""

import gc
import os
import threading

_lock = threading.Lock()
_inside = 0  # contexts that are entered, in all threads
_was_enabled = False


class NoCollections:
    """Context in which the garbage collector is disabled; any number of threads may be in it at a time."""

    def __enter__(self) -> None:
        global _inside, _was_enabled
        with _lock:
            if _inside == 0:
                _was_enabled = gc.isenabled()
                gc.disable()
            _inside += 1

    def __exit__(self, *_) -> None:
        global _inside
        with _lock:
            _inside -= 1
            if _inside == 0 and _was_enabled:
                gc.enable()


def _after_fork_in_child() -> None:
    """Leave the contexts of threads that the fork did not copy."""
    global _inside, _lock
    _lock = threading.Lock()
    if _inside and _was_enabled:
        gc.enable()
    _inside = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
