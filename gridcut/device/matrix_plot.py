"""Plots of matrices with matplotlib: entries, matched pairs and blocks; the results of assign and matching."""

from typing import Any

import numpy as np

from gridcut.device.arrays import to_host
from gridcut.device.figures import axes_or_current

SIDE = 250  # points: side of a plot in which the entries of a row, drawn as squares, would touch one another
MIN_MARK, MAX_MARK = 1.0, 14.0  # points: side of an entry's square


def plot_matrix(ax: Any, shape: tuple[int, int], pairs, entries=None, starts=None, values: Any = None) -> Any:
    """Draw a matrix, with row 0 at the top, on axes of matplotlib, or on the current ones if `ax` is None.

    pairs     rows and columns of the matched pairs, in red
    entries   rows and columns of the entries, in grey; or None
    starts    first rows and first columns of diagonal blocks, and the ends, to outline them; or None
    values    of the entries, (n, m), in grey; or None

    Returns the axes.  Raises ImportError if `ax` is None and matplotlib is not installed.
    """
    ax = axes_or_current(ax)
    if values is not None and values.size:
        ax.imshow(values, cmap="gray_r", interpolation="nearest", alpha=0.6)
    side = min(MAX_MARK, max(MIN_MARK, 0.8 * SIDE / max(1, *shape)))
    for places, colour in ((entries, "0.7"), (pairs, "tab:red")):
        if places is not None:
            row, col = map(to_host, places)
            ax.scatter(col, row, s=side**2, c=colour, marker="s", linewidths=0)
    if starts is not None:
        (top, bottom), (left, right) = ((start[:-1] - 0.5, start[1:] - 0.5) for start in starts)
        gap = np.full(len(top), np.nan)  # between the lines of two blocks
        across, down = (left, right, right, left, left, gap), (top, top, bottom, bottom, top, gap)
        ax.plot(np.stack(across, 1).ravel(), np.stack(down, 1).ravel(), color="tab:blue", linewidth=0.8)
    ax.set(xlim=(-0.5, shape[1] - 0.5), ylim=(shape[0] - 0.5, -0.5), xlabel="column", ylabel="row", aspect="equal")
    return ax
