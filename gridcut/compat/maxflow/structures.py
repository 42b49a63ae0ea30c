"""Structures: arrays with odd sides that give the neighbours of a pixel, which is in the middle, and their factors."""

from collections.abc import Iterator

import numpy as np

Offset = tuple[int, ...]


def vonNeumann_structure(ndim: int = 2, directed: bool = False) -> np.ndarray:
    """The structure of the direct neighbours, int64 (3, ...); of the half of them that come later, if `directed`."""
    return _structure(ndim, directed, lambda offset: sum(map(abs, offset)) == 1)


def moore_structure(ndim: int = 2, directed: bool = False) -> np.ndarray:
    """The structure of all neighbours, int64 (3, ...); of the half of them that come later, if `directed`."""
    return _structure(ndim, directed, any)


def _structure(ndim, directed, is_neighbour) -> np.ndarray:
    structure = np.zeros((3,) * ndim, np.int64)
    for index in np.ndindex(structure.shape):
        offset = tuple(part - 1 for part in index)
        structure[index] = is_neighbour(offset) and (not directed or offset > (0,) * ndim)
    return structure


def offsets_of(structure: np.ndarray, axes: int) -> Iterator[tuple[Offset, float]]:
    """The neighbours of a structure and their factors; a structure with fewer axes than the grid is of the last ones.

    Raises ValueError for too many axes, and RuntimeError, as PyMaxflow does, for an even side.
    """
    if structure.ndim > axes:
        raise ValueError(f"structure must have at most {axes} axes, as nodeids has, got {structure.ndim}")
    if any(side % 2 == 0 for side in structure.shape):
        raise RuntimeError(f"structure must have odd sides, got shape {structure.shape}")
    structure = structure.reshape((1,) * (axes - structure.ndim) + structure.shape)
    for index in zip(*np.nonzero(structure), strict=True):
        offset = tuple(int(part) - side // 2 for part, side in zip(index, structure.shape, strict=True))
        if any(offset):
            yield offset, structure[index].item()


def neighbours(shape, offset: Offset, periodic) -> tuple[tuple, tuple]:
    """Index arrays, one per axis, of the pixels that have a neighbour at this offset, and of those neighbours."""
    here, there = [], []
    for size, step, wraps in zip(shape, offset, periodic, strict=True):
        pixels = np.arange(size)
        if wraps:
            here.append(pixels)
            there.append((pixels + step) % max(size, 1))
        else:
            pixels = pixels[(pixels + step >= 0) & (pixels + step < size)]
            here.append(pixels)
            there.append(pixels + step)
    return np.ix_(*here), np.ix_(*there)
