"""Division of a grid into slabs along its first axis; needs no GPU.

::

      lines (rows of an image, planes of a volume)       slab 0        slab 1        slab 2
      0 ............ tiles of plane 0                    owned
      32 ........... tiles of plane 1                    owned         ghosts
      64 ........... tiles of plane 2                    ghosts        owned         ghosts
      96 ........... tiles of plane 3                                  ghosts        owned

A slab owns whole planes of tiles.  On each side where the grid continues it also holds one plane of *ghost tiles*, the
halo of the slab, which belong to the adjacent slab.  The tiles of a plane are contiguous in a TileLayout, so the tiles
that a slab owns are one contiguous part of its arrays.  Arcs cross at most one line, so only one line of a plane of
ghost tiles matters, the *face*: the line next to the boundary.  In each tile the pixels of a face are contiguous.
"""

from typing import NamedTuple

from gridcut.cuda.tile_layout import CELLS, TileLayout, make_tile_layout

BEFORE, AFTER = -1, 1  # sides of a slab


class Part(NamedTuple):
    """A slab: it owns lines first to last - 1 of the grid; all its tiles cover lines start to stop - 1.

    tiles    the layout of all its tiles
    own      the layout of the tiles that it owns
    """

    first: int
    last: int
    start: int
    stop: int
    tiles: TileLayout
    own: TileLayout

    @property
    def axis(self) -> int:
        """The grid's first axis: 0, 1 or 2 for z, y or x."""
        return first_axis(self.tiles)

    @property
    def plane(self) -> int:
        """Tiles per plane."""
        return self.tiles.count // self.tiles.tiles[self.axis]

    @property
    def ghosts_before(self) -> int:
        """Ghost tiles before the tiles it owns."""
        return self.plane if self.start < self.first else 0

    @property
    def ghosts_after(self) -> int:
        return self.tiles.count - self.ghosts_before - self.own.count

    def faces(self) -> list["Face"]:
        """The faces on the sides where the grid continues."""
        found = []
        if self.ghosts_before:
            found.append(self._face(BEFORE, self.ghosts_before, 0))
        if self.ghosts_after:
            found.append(
                self._face(AFTER, self.ghosts_before + self.own.count - self.plane, self.ghosts_before + self.own.count)
            )
        return found

    def _face(self, side: int, own: int, ghosts: int) -> "Face":
        pixels = CELLS // self.tiles.tile[self.axis]
        last_offset, first_offset = CELLS - pixels, 0
        across = []
        for k, offset in enumerate(self.tiles.offsets):
            if offset[self.axis] == side:
                dy, dx = (0, offset[2]) if self.axis == 1 else offset[1:]
                across.append((k, dy, dx))
        rows = self.tiles.tiles[1] if self.axis == 0 else 1
        at = (first_offset, last_offset) if side == BEFORE else (last_offset, first_offset)
        return Face(side, own, ghosts, *at, pixels, self.plane * pixels, (rows, self.tiles.tiles[2]), tuple(across))


class Face(NamedTuple):
    """The face between a slab and an adjacent one.

    Pixel j of the face is pixel offset + j % pixels of tile j // pixels of the plane.

    own, ghosts              the first tiles of the planes on this side of the boundary and on the other side
    own_offset, ghost_offset index of the face's first pixel in each tile of these planes
    pixels, cells            pixels of the face per tile, and in total
    tiles                    rows and columns of tiles
    across                   (k, dy, dx) of each arc across the boundary, from this side: index, offset along the face
    """

    side: int
    own: int
    ghosts: int
    own_offset: int
    ghost_offset: int
    pixels: int
    cells: int
    tiles: tuple[int, int]
    across: tuple[tuple[int, int, int], ...]


def first_axis(tiles: TileLayout) -> int:
    """Axis along which a grid is divided: z for volumes, y for images.  A grid with one axis is an image of one row."""
    return 0 if tiles.tile[0] > 1 else 1


def split(shape: tuple[int, ...], offsets, count: int) -> list[Part]:
    """Divide a grid into `count` slabs, but at most one per plane of tiles; offsets as in Layout."""
    whole = make_tile_layout(1, shape, offsets)
    axis = first_axis(whole)
    planes, thick, lines = whole.tiles[axis], whole.tile[axis], whole.extent[axis]
    count = min(count, planes)
    if count == 1:
        lines = shape[0]
        return [Part(0, lines, 0, lines, whole, whole)]
    parts = []
    for i in range(count):
        a, b = planes * i // count, planes * (i + 1) // count
        first, last = a * thick, min(b * thick, lines)
        start, stop = max(a - 1, 0) * thick, min((b + 1) * thick, lines)
        tiles, own = (make_tile_layout(1, (n, *shape[1:]), offsets) for n in (stop - start, last - first))
        parts.append(Part(first, last, start, stop, tiles, own))
    return parts
