"""Several nodes per pixel as layers of one grid, for convex label costs and roof duality."""

from typing import NamedTuple

import numpy as np

from gridcut.core.problem import Offset


class Folded(NamedTuple):
    """Layers over a grid as the capacities of one grid with at most three axes.

    shape     of the layers: (layers, *grid)
    spacing   lines of the first axis per line of the grid; 0: the layers are a separate axis
    """

    source: np.ndarray
    sink: np.ndarray
    edges: dict[Offset, np.ndarray]
    shape: tuple[int, ...]
    spacing: int

    @property
    def capacities(self) -> tuple[np.ndarray, np.ndarray, dict[Offset, np.ndarray]]:
        """The arguments of `max_flow`."""
        return self.source, self.sink, self.edges

    def sides(self, labels) -> np.ndarray:
        """Labels of that cut, in the shape of the layers."""
        if self.spacing == 0:
            return labels
        layers, length = self.shape[:2]
        rows = labels.reshape(length, self.spacing, *self.shape[2:])
        return np.moveaxis(rows[:, :layers], 1, 0)

    def labels(self, sides: np.ndarray) -> np.ndarray:
        """Labels of the layers as labels of the one grid; False where it has no layer."""
        return fold(sides, self.spacing)


def fold_layers(source, sink, edges) -> Folded:
    """The capacities of the layers as those of one grid.

    source, sink   (layers, *grid);  edges[(d, *offset)] of that shape, 0 where it leaves the layers or the grid

    The layers of a grid with three axes are interleaved along the first axis, spaced so that all offsets stay distinct.
    """
    if source.ndim <= 3:
        return Folded(source, sink, edges, source.shape, 0)
    spacing = max(source.shape[0], 2 * max((abs(offset[0]) for offset in edges), default=0) + 1)
    arcs = {(o[1] * spacing + o[0], *o[2:]): fold(array, spacing) for o, array in edges.items()}
    return Folded(fold(source, spacing), fold(sink, spacing), arcs, source.shape, spacing)


def fold(array: np.ndarray, spacing: int) -> np.ndarray:
    """An array of the layers with those of each line stored consecutively along the first axis of the grid."""
    if spacing == 0:
        return array
    layers, length = array.shape[:2]
    rows = np.zeros((length, spacing, *array.shape[2:]), array.dtype)
    rows[:, :layers] = np.moveaxis(array, 0, 1)
    return rows.reshape(length * spacing, *array.shape[2:])
