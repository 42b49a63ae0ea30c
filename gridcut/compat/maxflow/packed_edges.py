"""Edges that are added one at a time, packed into bytes, of which arrays are made without a loop.

A call of a Python function alone takes half of PyMaxflow's time for an edge, so that little else may be done in it:
`struct` converts, checks and stores the numbers.  What it cannot pack, such as a negative node, takes a slower one.
"""

import struct

import numpy as np


def packed(pack, *numbers) -> bytes:
    """The bytes of an edge, by the `pack` of a Struct of "Q", "q" and "d"; OverflowError if a number does not fit."""
    try:
        return pack(*numbers)
    except struct.error:
        raise too_large() from None


def unpacked(pack, edges: bytearray) -> list[np.ndarray]:
    """The columns of packed edges, as int64 and float64."""
    form = pack.__self__.format.replace("Q", "q")
    table = np.frombuffer(bytes(edges), [(str(place), letter) for place, letter in enumerate(form)])
    return [table[str(place)].copy() for place in range(len(form))]


def too_large() -> OverflowError:
    """The error for an integer beyond int64."""
    return OverflowError("capacities of GraphInt must fit int64")
