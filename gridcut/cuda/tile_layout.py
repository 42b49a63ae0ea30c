"""The tiled layout of a grid on the GPU, and conversions from and to the flat layout; needs no GPU."""

import math
from typing import NamedTuple

import numpy as np

from gridcut.core.grid import Layout

CELLS = 1024  # pixels per tile
LANES = 32  # pixels per row of a tile, one for each lane of a warp


class TileLayout(NamedTuple):
    """Layout of one or more images of the same shape: whole tiles, one after the other.

    ::

              x ─►   32 columns: the lanes of a row
            ┌──────────┬──────────┬──────────┐
          y │ tile 0   │ tile 1   │ tile 2 ░░│    a tile holds 1024 pixels: 32 rows of 32 in an image,
          ▼ │ 32 rows  │          │        ░░│    4 layers of 8 rows of 32 in a volume
            ├──────────┼──────────┼──────────┤
            │ tile 3   │ tile 4   │ tile 5 ░░│    ░ outside the grid: excess and residuals are 0
            └──────────┴──────────┴──────────┘

    items        images of a batch; each has its own tiles, one image after the other
    extent       (depth, height, width) of one image; leading 1s for fewer axes
    tile, tiles  shape of a tile, and number of tiles along each axis
    offsets      arcs as steps (z, y, x); offsets[k ^ 1] is minus offsets[k]

    Pixel (z, y, x) of image b is in tile t = ((b * nd + z // td) * nh + y // th) * nw + x // 32, in
    row (z % td) * th + y % th and lane x % 32 of that tile:

    excess[t * 1024 + row * 32 + lane]
    residual[(t * arcs + k) * 1024 + row * 32 + lane]
    """

    items: int
    extent: tuple[int, int, int]
    tile: tuple[int, int, int]
    tiles: tuple[int, int, int]
    offsets: tuple[tuple[int, int, int], ...]

    @property
    def arcs(self) -> int:
        return len(self.offsets)

    @property
    def count(self) -> int:
        """Number of tiles of all images."""
        return self.items * math.prod(self.tiles)

    @property
    def cells(self) -> int:
        return self.count * CELLS

    @property
    def padded(self) -> bool:
        """Whether a tile extends beyond the grid."""
        return any(d % t for d, t in zip(self.extent, self.tile, strict=True))


def make_tile_layout(items: int, shape: tuple[int, ...], offsets) -> TileLayout:
    """Layout for `items` images of this shape; offsets as in `Layout`, opposite offsets in pairs."""
    lead = (0,) * (3 - len(shape))
    extent = (1,) * len(lead) + tuple(shape)
    tile = (4, 8, LANES) if len(shape) == 3 else (1, CELLS // LANES, LANES)
    tiles = tuple(-(-d // t) for d, t in zip(extent, tile, strict=True))
    return TileLayout(items, extent, tile, tiles, tuple(lead + tuple(o) for o in offsets))


def has_only_direct_neighbours(offsets) -> bool:
    """Whether all arcs lead to direct neighbours, as tiles require."""
    return all(abs(i) <= 1 for offset in offsets for i in offset)


def to_flat(tiled: TileLayout, excess, residual, layout: Layout, item: int = 0):
    """Convert excess and residuals of one image from tiles to the flat layout; host arrays."""
    count = math.prod(tiled.tiles)
    excess = excess.reshape(tiled.items, count, CELLS)[item]
    residual = residual.reshape(tiled.items, count, tiled.arcs, CELLS)[item]
    flat_excess = np.zeros(layout.size, excess.dtype)
    flat_residual = np.zeros(layout.size * layout.arcs, excess.dtype)
    layout.interior(flat_excess)[...] = to_image(tiled, excess).reshape(layout.shape)
    pixels = layout.interior(flat_residual.reshape(layout.size, layout.arcs))
    for k in range(tiled.arcs):
        pixels[..., k] = to_image(tiled, residual[:, k]).reshape(layout.shape)
    return flat_excess, flat_residual


def to_image(tiled: TileLayout, tiles: np.ndarray) -> np.ndarray:
    """Convert an array of shape (tiles, 1024) to the image that the tiles cover."""
    split = tiles.reshape(*tiled.tiles, *tiled.tile)
    whole = split.transpose(0, 3, 1, 4, 2, 5).reshape([n * t for n, t in zip(tiled.tiles, tiled.tile, strict=True)])
    return whole[tuple(slice(d) for d in tiled.extent)]
