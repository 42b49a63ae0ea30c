"""Values of a grid inside a record, compressed."""

import base64
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

    def text(self) -> str:
        """The compressed values in base64."""
        return base64.b64encode(self.data).decode()

    @classmethod
    def of_text(cls, text: str, shape: tuple[int, ...]) -> "PackedMask":
        """The bool mask of a shape in a text; ValueError for anything else."""
        try:
            data = base64.b64decode(text, validate=True)
            values = zlib.decompressobj().decompress(data, math.prod(shape) + 1)  # no more than needed
            return cls.of(np.frombuffer(values, np.uint8).reshape(shape) > 0)
        except (TypeError, zlib.error):
            raise ValueError("pixels") from None
