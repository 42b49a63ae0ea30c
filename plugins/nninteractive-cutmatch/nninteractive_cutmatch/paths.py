"""A mask of a slice as strokes: polylines along its runs that touch all of its pixels and no others.

A run is a piece of a row.  A path walks along each run, and between neighbouring runs by a step to one of the eight
neighbours of a pixel; it comes back the same way.
"""

import numpy as np

MOST_POINTS = 50_000  # of one polyline


def paths_through(mask: np.ndarray) -> list[np.ndarray]:
    """Polylines x, y through the centres of the pixels of a mask, bool (H, W); one or more per connected part."""
    edges = np.diff(np.pad(mask, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    (rows, starts), (_, stops) = np.nonzero(edges == 1), np.nonzero(edges == -1)
    of_row = np.searchsorted(rows, np.arange(-1, len(mask) + 2))  # the first run of each row, from row -1 on
    visited, paths = np.zeros(len(rows), bool), []
    for first in range(len(rows)):
        if not visited[first]:
            points = np.array(_walk(first, rows, starts, stops, of_row, visited), float) + 0.5
            paths += [points[k : k + MOST_POINTS] for k in range(0, max(1, len(points) - 1), MOST_POINTS - 1)]
    return paths


def _walk(first, rows, starts, stops, of_row, visited) -> list[tuple[int, int]]:
    """Pixels x, y of a walk through all runs that are connected with one."""
    points, stack = [], [(first, iter(()), None)]
    while stack:
        run, neighbours, entry = stack.pop()
        if not visited[run]:
            visited[run] = True
            row = rows[run]
            points += [(starts[run], row), (stops[run] - 1, row)]
            neighbours = iter([*range(of_row[row], of_row[row + 1]), *range(of_row[row + 2], of_row[row + 3])])
        for other in neighbours:
            if not visited[other] and starts[other] <= stops[run] and starts[run] <= stops[other]:
                here = min(max(starts[other], starts[run]), stops[run] - 1)
                there = min(max(here, starts[other]), stops[other] - 1)
                points += [(here, rows[run]), (there, rows[other])]
                stack += [(run, neighbours, entry), (other, iter(()), [(there, rows[other]), (here, rows[run])])]
                break
        else:
            points += entry or []
    return points
