"""One call at a time: an object that keeps state refuses a second call while one is running.

Two threads in one solver would corrupt its state and get wrong results without an error, as would a callback that
changes the solver it is called from.  The methods that read or change the state are therefore decorated.  A call never
waits for another one: it raises RuntimeError.

A flag serves instead of a lock, which takes longer.  Python switches threads and raises interrupts at calls and loops,
so never between the test of the flag and its assignment, nor between the end of a method and the first `finally`.  The
second `finally` is for errors that a tracing function raises in the first one.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


def one_at_a_time(
    method: Callable[Concatenate[Any, Arguments], Returned],
) -> Callable[Concatenate[Any, Arguments], Returned]:
    """Decorate a method that must not run while a decorated method of the same object is running.

    Its class has the attribute `_is_running`, False, which copies of the object must not get.
    """

    @wraps(method)
    def call(self: Any, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Returned:
        if self._is_running:
            name = type(self).__name__
            raise RuntimeError(
                f"this {name} is in use by another thread, or by the call whose callback uses it; use one {name} per "
                "thread, or a lock"
            )
        try:
            try:
                self._is_running = True
                return method(self, *arguments, **named)
            finally:
                self._is_running = False
        finally:
            self._is_running = False

    return call
