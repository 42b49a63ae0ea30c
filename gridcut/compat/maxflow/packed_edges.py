"""Edges that are added one at a time: a bytearray, of which arrays are made without a loop.

It holds the number of nodes of the graph, the number of its bytes that are used, and for each edge nodes and
capacities, in the form of a Struct of "q" and "d".  When it is full, it grows to twice its size.

The memory of graphs that are gone is used again: pages that are new to the process take a fifth of the time in which a
graph is built edge by edge.
"""

import struct
import threading

import numpy as np

SLOTS = "_packed_edges", "_packed_terminals", "_segments"  # of a graph: what machine code reads
HEADER = 16  # bytes before the first edge
MAX_SPARE = 1 << 23  # bytes of a bytearray that is kept for the next graph


class _Spare(threading.local):
    def __init__(self):
        self.kept: list[bytearray] = []


_spare = _Spare()


def no_edges(node_count: int) -> bytearray:
    """The bytes of a graph without edges."""
    return bytearray(struct.pack("qq", node_count, HEADER))


def no_nodes() -> bytearray:
    """The same for a new graph, in memory that was given back, if there is some."""
    edges = _spare.kept.pop() if _spare.kept else bytearray(HEADER)
    edges[:HEADER] = no_edges(0)
    return edges


def give_back(*unused: bytearray) -> None:
    """Keep memory that no graph refers to any more, for the next one, which takes the last of it first."""
    kept = [edges for edges in unused if isinstance(edges, bytearray) and HEADER < len(edges) <= MAX_SPARE]
    _spare.kept = [*_spare.kept, *kept][-len(SLOTS) :]


def set_node_count(edges: bytearray, node_count: int) -> None:
    """Nodes were added."""
    struct.pack_into("q", edges, 0, node_count)


def used_bytes(edges: bytearray) -> int:
    """The number of bytes that are used, the header included."""
    return struct.unpack_from("q", edges, 8)[0]


def has_edges(edges: bytearray) -> bool:
    """Whether edges were added."""
    return used_bytes(edges) > HEADER


def append(edges: bytearray, form: str, *numbers) -> None:
    """Add one edge; OverflowError if a number does not fit."""
    try:
        edge = struct.pack(form, *numbers)
    except struct.error:
        raise OverflowError("capacities of GraphInt must fit int64") from None
    end = used_bytes(edges)
    edges[end : end + len(edge)] = edge
    struct.pack_into("q", edges, 8, end + len(edge))


def table(edges: bytearray, width: int) -> np.ndarray:
    """The edges as int64, one row of `width` numbers each: not a copy, and while it is in use, no edge can be added."""
    return np.frombuffer(edges, np.int64, used_bytes(edges) // 8)[HEADER // 8 :].reshape(-1, width)


def columns(form: str, rows: np.ndarray) -> list[np.ndarray]:
    """The columns of a table, as int64 and float64."""
    return [rows[:, i].view(np.float64 if letter == "d" else np.int64) for i, letter in enumerate(form)]
