"""The code of a brush region: the bits of a run-length code of RGBA values, row by row.

32 bits number of values, 5 bits length of a value - 1, four times 4 bits length of a count - 1, then per run
1 bit whether one value is repeated, 2 bits which length of a count, count - 1, and one value, or all values
"""

import numpy as np

from label_studio_cutmatch.masks import Refused

MAX_COUNT = 1 << 16  # values of a run that is written


def encode_rle(mask: np.ndarray) -> list[int]:
    """The bytes of a mask, bool (H, W), as RGBA of 0 and 255; every run is one repeated value."""
    flat = np.ravel(mask)
    starts = np.concatenate(([0], np.flatnonzero(flat[1:] != flat[:-1]) + 1))
    lengths, values = np.diff(starts, append=flat.size), flat[starts]
    more = (4 * lengths - 1) // MAX_COUNT  # full runs before the last one
    counts = np.full(int((more + 1).sum()), MAX_COUNT, np.int64)
    counts[np.cumsum(more + 1) - 1] = 4 * lengths - MAX_COUNT * more
    runs = (0b111 << 24) | ((counts - 1) << 8) | (255 * np.repeat(values, more + 1).astype(np.int64))
    head = (4 * mask.size << 21) | (7 << 16) | 0xFFFF  # values of 8 bits, counts of 16
    bits = [np.array([head]) >> np.arange(52, -1, -1), runs[:, None] >> np.arange(26, -1, -1)]
    return np.packbits(np.concatenate([(part & 1).ravel() for part in bits]).astype(np.uint8)).tolist()


def decode_rle(data: list, size: int) -> np.ndarray:
    """The values, uint8 (size,); `Refused` unless the bytes hold `size` values."""
    if len(data) > 2 * size + 64 or not all(type(one) is int and 0 <= one < 256 for one in data):
        raise Refused("rle must be a list of bytes, not longer than the image")
    bits, at = "".join(f"{one:08b}" for one in data), 0

    def read(count: int) -> int:
        nonlocal at
        at += count
        if at > len(bits):
            raise Refused("rle ends too soon")
        return int(bits[at - count : at], 2)

    if (claimed := read(32)) != size:
        raise Refused(f"rle has {claimed} values, but the image has 4 x {size // 4}; reload the task")
    value_bits, count_bits = read(5) + 1, [read(4) + 1 for _ in range(4)]
    values, filled = np.zeros(size, np.uint8), 0
    while filled < size:
        is_repeated, count = read(1), read(count_bits[read(2)]) + 1
        if is_repeated:
            values[filled : filled + count] = read(value_bits) & 255
        else:
            for k in range(filled, min(filled + count, size)):
                values[k] = read(value_bits) & 255
        filled += count
    return values
