"""How a grid is cut into slabs along its first axis; needs no GPU.

::

      lines (rows of a picture, planes of a volume)      slab 0        slab 1        slab 2
      0 ............ tiles of plane 0                    owned
      32 ........... tiles of plane 1                    owned         ghosts
      64 ........... tiles of plane 2                    ghosts        owned         ghosts
      96 ........... tiles of plane 3                                  ghosts        owned

A slab owns whole planes of tiles, and holds one more on each side where the grid goes on: ghosts, which belong to the
neighbour.  Tiles of a plane lie next to each other in a TileLayout, so what a slab owns is one piece of its arrays.
Arcs reach one line at most, so of a plane of ghosts only the *face* counts: the lines next to the border.  The pixels
of a face lie next to each other in every tile.
"""

from typing import NamedTuple

from gridcut.tiles.tile_layout import CELLS, TileLayout, make_tile_layout

BEFORE, AFTER = -1, 1  # sides of a slab


class Part(NamedTuple):
    """A slab: lines first ... last - 1 of the grid are its own, start ... stop - 1 those of all its tiles.

    tiles    the layout of all its tiles;  own: of those it owns
    """

    first: int
    last: int
    start: int
    stop: int
    tiles: TileLayout
    own: TileLayout

    @property
    def axis(self) -> int:
        """The first axis of the grid among z, y, x."""
        return first_axis(self.tiles)

    @property
    def is_line(self) -> bool:
        """A grid of one axis, which is never cut."""
        return self.last != self.own.extent[self.axis] + self.first

    @property
    def plane(self) -> int:
        """Tiles of a plane."""
        return self.tiles.count // self.tiles.tiles[self.axis]

    @property
    def ghosts_before(self) -> int:
        """Ghosts before the tiles it owns."""
        return self.plane if self.start < self.first else 0

    @property
    def ghosts_after(self) -> int:
        return self.tiles.count - self.ghosts_before - self.own.count

    def faces(self) -> list["Face"]:
        """The faces where the grid goes on."""
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
    """Where a slab meets the next one.

    Pixel j lies in tile j // pixels of the plane, there at `place` + j % pixels.

    own, ghosts              the first tiles of the planes on this side of the border and on the other
    own_place, ghost_place   where the face begins in a tile of each
    pixels, cells            pixels of the face in a tile, and in all
    tiles                    rows and columns of tiles
    across                   (k, dy, dx) of the arcs over the border, from here to there: its offset along the face
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
    """Where slabs are cut: planes of volumes, rows of pictures.  A line is one row of a picture."""
    return 0 if tiles.tile[0] > 1 else 1


def split(shape: tuple[int, ...], offsets, count: int) -> list[Part]:
    """Slabs of a grid of this shape, `count` of them or as many as there are planes of tiles; offsets as in Layout."""
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
