"""Lines between points, with matplotlib: the plots of matches and of tracks."""

from typing import Any

import numpy as np

from gridcut.device.figures import axes_or_current, label_colours


def plot_lines(ax: Any, start: np.ndarray, end: np.ndarray, colour: np.ndarray) -> Any:
    """Draw a line from each point `start` to its point `end`, (N, 2) each, with y down as in images.

    ax       matplotlib axes; None: the current ones
    colour   integers (N,): lines with the same integer have the same colour

    Returns the axes.  Raises ImportError if `ax` is None and matplotlib is not installed.
    """
    ax = axes_or_current(ax)
    if not len(start):
        return ax
    from matplotlib.collections import LineCollection

    lines = list(np.stack([start, end], axis=1))
    ax.add_collection(LineCollection(lines, colors=label_colours(colour) / 255, linewidths=1))
    ax.autoscale_view()
    ax.set_aspect("equal")
    if not ax.yaxis_inverted():
        ax.invert_yaxis()
    return ax
