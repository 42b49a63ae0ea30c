"""Conversion of grids to tiles on the host, the inverse of `to_flat` and `to_image`."""

import math

import numpy as np

from gridcut.core.grid import Layout
from gridcut.cuda.tile_layout import CELLS, TileLayout


def from_flat(tiled: TileLayout, excess, residual, layout: Layout, dtype=None):
    """Convert excess and residuals of one image from the flat layout to tiles; `dtype`: of the residuals."""
    pixels = layout.interior(residual.reshape(layout.size, layout.arcs))
    arcs = [to_tiles(tiled, pixels[..., k]) for k in range(layout.arcs)]
    residual = np.stack(arcs, axis=1).astype(residual.dtype if dtype is None else dtype)
    return to_tiles(tiled, layout.interior(excess)).reshape(-1), residual.reshape(-1)


def to_tiles(tiled: TileLayout, image: np.ndarray) -> np.ndarray:
    """Convert an image, padded with zeros, to an array of shape (tiles, 1024)."""
    image = image.reshape(tiled.extent)
    room = [n * t - d for n, t, d in zip(tiled.tiles, tiled.tile, tiled.extent, strict=True)]
    whole = np.pad(image, [(0, r) for r in room])
    split = whole.reshape([i for pair in zip(tiled.tiles, tiled.tile, strict=True) for i in pair])
    return split.transpose(0, 2, 4, 1, 3, 5).reshape(math.prod(tiled.tiles), CELLS)
