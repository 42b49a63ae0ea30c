"""What the page reads of the messages with masks."""

import struct

import numpy as np

from apps.app.messages import MASK

HEADER = struct.Struct("<B3xIiiIIIII")


def decode_mask(data: bytes, labels: np.ndarray) -> tuple[int, int, int]:
    """Apply a message of `encode_mask` to labels in place; return its item, axis and index."""
    kind, item, axis, index, x, y, width, height, runs = HEADER.unpack_from(data)
    assert kind == MASK
    lengths = np.frombuffer(data, "<u4", runs, HEADER.size)
    values = np.frombuffer(data, "<u2", runs, HEADER.size + 4 * runs)
    labels[y : y + height, x : x + width] = np.repeat(values, lengths).reshape(height, width)
    return item, axis, index
