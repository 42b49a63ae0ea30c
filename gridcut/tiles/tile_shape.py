"""The constants that the kernels of `tiles` are compiled for: neighbourhood, tile, and arrays derived from them."""

from typing import NamedTuple

import numpy as np

from gridcut.tiles.tile_discharge import LIST_WORDS, PIXELS, WIDTH


class Shape(NamedTuple):
    """What the kernels are compiled for."""

    offsets: tuple  # arcs as steps (z, y, x)
    tile: tuple  # pixels of a tile along z, y, x
    wide: bool  # excess and residuals are int64

    @property
    def arcs(self) -> int:
        return len(self.offsets)

    @property
    def is_diagonal(self) -> bool:
        """Whether an arc is not parallel to an axis."""
        return any(np.count_nonzero(o) > 1 for o in self.offsets)

    @property
    def colours(self) -> int:
        """Number of colours of tiles; see `colour_of`."""
        return 8 if self.is_diagonal else 2

    @property
    def lists(self) -> int:
        """Number of lists of tiles: three per colour."""
        return 3 * self.colours

    @property
    def halo(self) -> tuple[int, int]:
        """Width of the halo of a tile along z and y, in pixels."""
        return tuple(max(abs(o[axis]) for o in self.offsets) for axis in (0, 1))

    @property
    def height_words(self) -> int:
        """int32 words for the heights of a tile and its halo, an even number."""
        (depth, rows, _), halo = self.tile, self.halo
        words = (depth + 2 * halo[0]) * (rows + 2 * halo[1]) * WIDTH
        return words + words % 2

    @property
    def excess_start(self) -> int:
        """Index of the first excess in shared memory, after the heights."""
        return self.height_words // (2 if self.wide else 1)

    @property
    def shared_bytes(self) -> int:
        """Bytes of dynamic shared memory per block of discharge_kernel."""
        return 4 * (self.list_start + LIST_WORDS)

    @property
    def list_start(self) -> int:
        """Index of the lists of active pixels in shared memory."""
        return self.height_words + (2 if self.wide else 1) * (PIXELS * (1 + self.arcs) + 2)

    @property
    def offset_array(self) -> np.ndarray:
        return np.array(self.offsets, np.int32)

    @property
    def pixel_steps(self) -> np.ndarray:
        """For each arc, the difference of pixel indices within the tile."""
        return (self.offset_array @ [self.tile[1] * 32, 32, 1]).astype(np.int32)

    @property
    def height_steps(self) -> np.ndarray:
        """For each arc, the difference of indices in the heights with their halo."""
        return (self.offset_array @ [(self.tile[1] + 2 * self.halo[1]) * WIDTH, WIDTH, 1]).astype(np.int32)

    @property
    def leaving(self) -> np.ndarray:
        """Arcs (row, k) that leave the tile in depth or height."""
        depth, rows, _ = self.tile
        found = [
            (row, k)
            for row in range(32)
            for k, (dz, dy, _) in enumerate(self.offsets)
            if not (0 <= row // rows + dz < depth and 0 <= row % rows + dy < rows)
        ]
        # Constant memory cannot hold empty arrays.  Reading one arc too many is safe: where arc 0 of row 0 is residual,
        # it offers the current height at its end plus 1, an upper bound of the height, like any arc that leaves a tile.
        return np.array(found or [(0, 0)] * 2, np.int32)

    @property
    def face_rows(self) -> np.ndarray:
        """The rows of `leaving`."""
        return np.unique(self.leaving[:, 0])

    @property
    def sides(self) -> np.ndarray:
        """The sides of the tile that arcs cross, as signs (z, y, x)."""
        found = {tuple(int(i) for i in np.sign(o) * keep) for o in self.offsets for keep in np.ndindex(2, 2, 2)}
        return np.array(sorted(found - {(0, 0, 0)}), np.int32)
