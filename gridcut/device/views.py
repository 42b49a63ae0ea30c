"""Views of a caller's arrays in the few types for which kernels are compiled.

numba types read-only arrays apart: a kernel would be compiled once more for a matrix from a read-only file, and once
for each subset of its read-only arguments.  Kernels never write to their inputs, so they get views that do not carry
the mark.
"""

import numpy as np


class _Memory:
    """The memory of an array, exposed to numpy as writeable; keeps the array alive."""

    def __init__(self, owner: np.ndarray):
        self.owner = owner
        interface = dict(owner.__array_interface__)
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


def unmarked(array: np.ndarray) -> np.ndarray:
    """The array itself, or a view of a read-only one without that mark; for kernels that do not write to it."""
    return array if array.flags.writeable else np.asarray(_Memory(array))
