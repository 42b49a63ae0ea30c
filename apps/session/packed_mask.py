"""Values of a grid inside a record, compressed."""

import math
import zlib
from typing import NamedTuple

import numpy as np


class PackedMask(NamedTuple):
    """Values of a grid, bool or uint8, compressed."""

    shape: tuple[int, ...]
    dtype: str
    data: bytes

    @classmethod
    def of(cls, values: np.ndarray) -> "PackedMask":
        return cls(values.shape, values.dtype.str, zlib.compress(np.ascontiguousarray(values).tobytes(), 1))

    def values(self) -> np.ndarray:
        """The values."""
        return np.frombuffer(zlib.decompress(self.data), self.dtype).reshape(self.shape)

    @classmethod
    def of_data(cls, data: bytes, shape: tuple[int, ...], dtype: type) -> "PackedMask":
        """The values of a shape, bool or uint8, in data of another; ValueError or TypeError for anything else."""
        try:
            values = zlib.decompressobj().decompress(data, math.prod(shape) + 1)  # no more than needed
        except zlib.error:
            raise ValueError("pixels") from None
        if len(values) != math.prod(shape) or (dtype is bool and np.frombuffer(values, np.uint8).max() > 1):
            raise ValueError("pixels")
        return cls(shape, np.dtype(dtype).str, data)
