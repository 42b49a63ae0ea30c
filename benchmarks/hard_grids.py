"""Grids on which searches for augmenting paths do much more work than push-relabel: long, narrow, or few arcs wide.

Each family is a function of the number of pixels; all edges are undirected.
"""

import numpy as np

STRONG = 1 << 20  # an edge that no cut contains


def line(cells):
    """A line, the first half sources of 1, the second half sinks of 1."""
    return _halves(np.ones((1, cells), bool))


def ladder(cells):
    """Two such lines side by side."""
    return _halves(np.ones((2, cells // 2), bool))


def tall_ladder(cells):
    """A ladder whose lines are the columns of the grid."""
    source, sink, edges = ladder(cells)
    return source.T.copy(), sink.T.copy(), {(dy, dx): edges[dx, dy].T.copy() for dy, dx in edges}


def snake(cells):
    """A corridor of width 1 through a square."""
    n = int(cells**0.5)
    inside = np.ones((n, n), bool)
    inside[1::2] = False
    inside[1::4, -1] = inside[3::4, 0] = True
    return _halves(inside, np.cumsum(inside.ravel()).reshape(n, n) <= inside.sum() // 2)


def comb(cells):
    """Teeth of width 1 that hang from one line; the teeth of the left half are sources."""
    n = int(cells**0.5)
    inside = np.ones((n, n), bool)
    inside[1:, 1::2] = False
    return _halves(inside)


def zigzag(cells):
    """A corridor of width 1 down the diagonals of a square, in steps of one pixel."""
    n = int(cells**0.5)
    row, column = np.indices((n, n))
    inside = (column - row) % 4 < 2
    inside[0] = inside[-1] = True
    return _halves(inside)


def random_levels(cells):
    """A square with random capacities, from its left border to its right one."""
    return _random(int(cells**0.5), int(cells**0.5))


def long_random_levels(cells):
    """A strip, sixteen times as long as it is wide, with random capacities from end to end."""
    n = int((cells // 16) ** 0.5)
    return _random(n, 16 * n)


FAMILIES = {
    family.__name__.replace("_", " "): family
    for family in (line, ladder, tall_ladder, snake, comb, zigzag, random_levels, long_random_levels)
}


def _halves(inside, first=None):
    """Sources of 1 in the first part of the pixels inside, sinks of 1 in the rest, strong edges between them."""
    if first is None:
        first = np.arange(inside.shape[1]) < inside.shape[1] // 2
    down, right = np.zeros((2, *inside.shape), np.int32)
    down[:-1] = STRONG * (inside[:-1] & inside[1:])
    right[:, :-1] = STRONG * (inside[:, :-1] & inside[:, 1:])
    return np.int32(inside & first), np.int32(inside & ~first), {(0, 1): right, (1, 0): down}


def _random(height, width):
    down, right = np.random.default_rng(0).integers(1, 10_000, (2, height, width), np.int32)
    down[-1] = 0
    right[:, -1] = 0
    source, sink = np.zeros((2, height, width), np.int32)
    source[:, 0] = sink[:, -1] = STRONG
    return source, sink, {(0, 1): right, (1, 0): down}
