"""Run-length encoding of masks as in COCO: lengths of runs in column order, starting with the background.

The compressed form is the string that pycocotools reads and writes: each length from the fourth on is stored as the
difference to the length two before it, in groups of 5 bits, the lowest first, with a sixth bit for "more follows".
"""

import numpy as np


def run_lengths(mask: np.ndarray) -> np.ndarray:
    """Lengths of the runs of a bool mask (H, W) in column order, int64; the first one is of background, maybe 0."""
    flat = np.ascontiguousarray(mask.T, bool).ravel()
    changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    first = [0] if flat.size and flat[0] else []
    return np.diff(np.concatenate([[0], first, changes, [flat.size]]).astype(np.int64))


def mask_of_runs(lengths: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """The bool mask (H, W) of runs; ValueError unless they cover the shape exactly."""
    if (np.asarray(lengths) < 0).any() or int(np.sum(lengths)) != shape[0] * shape[1]:
        raise ValueError(f"lengths of runs must sum to {shape[0] * shape[1]} pixels, got {int(np.sum(lengths))}")
    values = np.arange(len(lengths)) % 2 == 1
    return np.ascontiguousarray(np.repeat(values, lengths).reshape(shape[::-1]).T)


def compressed(lengths: np.ndarray) -> str:
    """The compressed form of lengths of runs."""
    rest = np.array(lengths, np.int64)
    rest[3:] -= lengths[1:-2]
    groups, written = [], []
    pending = np.ones(rest.shape, bool)
    while pending.any():
        group = rest & 31
        rest >>= 5
        more = np.where(group & 16, rest != -1, rest != 0)  # the fifth bit is the sign of the last group
        groups.append((group | (more << 5)) + 48)
        written.append(pending)
        pending = pending & more
    return np.stack(groups, axis=1)[np.stack(written, axis=1)].astype(np.uint8).tobytes().decode("ascii")


def lengths_of(text: str) -> np.ndarray:
    """The inverse of `compressed`; ValueError for a text that it does not write."""
    lengths: list[int] = []
    value = shift = 0
    for code in text.encode("ascii"):
        group = code - 48
        if not 0 <= group < 64 or shift > 60:
            raise ValueError("not a compressed run length")
        value |= (group & 31) << shift
        shift += 5
        if not group & 32:
            value -= (group & 16) << (shift - 4)
            lengths.append(value + (lengths[-2] if len(lengths) > 2 else 0))
            value = shift = 0
    if shift:
        raise ValueError("the last run length is incomplete")
    return np.array(lengths, np.int64)
