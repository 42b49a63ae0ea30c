"""Messages as the page writes and reads them."""

import struct

import numpy as np

HEADER = struct.Struct("<8i")


def stroke_of(points, label=1, radius=1.5, item=0, number=1, place=(None, None), final=True) -> dict:
    """A stroke, or a part of it; `place` is the axis and index of a slice."""
    shown = {
        "number": number,
        "points": [list(map(float, point)) for point in points],
        "radius": radius,
        "label": label,
    }
    return {"do": "stroke", "item": item} | shown | {"axis": place[0], "slice": place[1], "final": final}


def decode_mask(data: bytes, labels: np.ndarray) -> tuple[int, int, int]:
    """Apply a message of `encode_mask` to labels in place; return its item, axis and index."""
    item, axis, index, x, y, width, height, runs = HEADER.unpack_from(data)
    lengths = np.frombuffer(data, "<u4", runs, HEADER.size)
    values = np.frombuffer(data, "<u2", runs, HEADER.size + 4 * runs)
    labels[y : y + height, x : x + width] = np.repeat(values, lengths).reshape(height, width)
    return item, axis, index
