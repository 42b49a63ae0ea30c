"""Edges that are added one at a time, packed into bytes, of which arrays are made without a loop.

A call of a Python function alone takes half of PyMaxflow's time for an edge, so that little else may be done in it:
`struct` converts, checks and stores the numbers.  What it cannot pack, such as a negative node, takes a slower one.
A form is a Struct's, of "Q", "q" and "d".
"""

import struct
from math import trunc

import numpy as np


def pack_cut_edge(i, j, capacity, rcapacity) -> bytes:
    """The bytes of an edge of GraphInt whose capacities are floats."""
    return struct.pack("QQQQ", i, j, trunc(capacity), trunc(rcapacity))


def pack_cut_terminals(i, cap_source, cap_sink) -> bytes:
    """The same for terminal edges."""
    return struct.pack("Qqq", i, trunc(cap_source), trunc(cap_sink))


def packed(form: str, *numbers) -> bytes:
    """The bytes of an edge; OverflowError if a number does not fit."""
    try:
        return struct.pack(form, *numbers)
    except struct.error:
        raise too_large() from None


def unpacked(form: str, edges: bytearray) -> list[np.ndarray]:
    """The columns of packed edges, as int64 and float64."""
    # NumPy's "q" is another type than int64, with which add.at takes ten times as long.
    table = np.frombuffer(edges, ",".join("f8" if letter == "d" else "i8" for letter in form))
    return [table[f"f{place}"].copy() for place in range(len(form))]


def too_large() -> OverflowError:
    """The error for an integer beyond int64."""
    return OverflowError("capacities of GraphInt must fit int64")
