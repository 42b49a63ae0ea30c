"""Entries of the tables of methods: where a solver is, by name, and the keywords that it accepts.

A table is data.  Importing it imports no solver, and numba.cuda is imported for CUDA methods only.
"""

from importlib import import_module
from typing import Any, NamedTuple


class Implementation(NamedTuple):
    """A method on one device; a call imports its solver and calls it.

    solver       "module:function"
    parameters   the keywords that callers may pass to it
    """

    solver: str
    parameters: tuple[str, ...] = ()

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        module, function = self.solver.split(":")
        return getattr(import_module(module), function)(*arguments, **keywords)


class Method(NamedTuple):
    """The implementations of a method, None for a device on which it does not run."""

    cpu: Implementation | None = None
    cuda: Implementation | None = None

    def on(self, device: str) -> Implementation:
        """The implementation for "cpu" or "cuda", which exists."""
        found = self.cpu if device == "cpu" else self.cuda
        assert found is not None
        return found
