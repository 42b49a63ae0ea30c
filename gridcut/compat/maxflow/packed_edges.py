"""Edges that are added one at a time: a bytearray, of which arrays are made without a loop.

It holds the number of nodes of the graph, the number of its bytes that are used, and for each edge nodes and
capacities, in the form of a Struct of "q" and "d".  When it is full, it grows to twice its size.
"""

import struct

import numpy as np

SLOTS = "_packed_edges", "_packed_terminals", "_segments"  # of a graph: what machine code reads
HEADER = 16  # bytes before the first edge


def no_edges(node_count: int) -> bytearray:
    """The bytes of a graph without edges."""
    return bytearray(struct.pack("qq", node_count, HEADER))


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
    edges[end:] = edge
    struct.pack_into("q", edges, 8, end + len(edge))


def unpacked(form: str, edges: bytearray) -> list[np.ndarray]:
    """The columns of the edges, as int64 and float64, in one array: pages that are new take longer than the copy."""
    table = np.frombuffer(edges, np.int64, used_bytes(edges) // 8)[HEADER // 8 :]
    columns = table.reshape(-1, len(form)).T.copy()
    return [column.view(np.float64) if letter == "d" else column for letter, column in zip(form, columns, strict=True)]
