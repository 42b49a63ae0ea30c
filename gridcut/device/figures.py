"""Figures of results for notebooks and for matplotlib: colours of labels, thumbnails, PNG files.

A figure is an array of the shape (H, W), whose values get colours here, or uint8 RGB of the shape (H, W, 3).
"""

from io import BytesIO
from typing import Any

import numpy as np

from gridcut.device.arrays import to_host

MAX_SIDE, MIN_SIDE = 256, 64  # pixels: longer side of a thumbnail; small grids are enlarged by an integer factor
GOLDEN_RATIO = 0.618034  # share of the colour circle from one label to the next
UNKNOWN = 110  # grey, for negative labels
HUE_SHIFT = np.array([0.0, 2 / 3, 1 / 3])  # of red, green and blue


def plane(grid):
    """A grid of one to three axes as two: a line becomes one row, a volume its fullest slice."""
    grid = to_host(grid)
    if grid.ndim == 3:
        return grid[fullest_slice(grid)]
    return grid[None] if grid.ndim == 1 else grid


def fullest_slice(volume: np.ndarray) -> int:
    """The slice of a volume (D, H, W) with the most values besides 0 and NaN, the middle one of those with as many."""
    counts = np.array([np.count_nonzero(np.nan_to_num(one)) for one in volume])
    fullest = np.flatnonzero(counts == counts.max())
    return int(fullest[len(fullest) // 2])


def coloured(figure: np.ndarray) -> np.ndarray:
    """A figure as uint8 RGB: bool black and white, integers one colour per label, floats grey between their limits."""
    if figure.ndim == 3:
        return figure
    if figure.dtype.kind == "b":
        grey = np.uint8(255) * figure
    elif figure.dtype.kind == "f":
        finite = figure[np.isfinite(figure)]
        low, high = (finite.min(), finite.max()) if finite.size else (0, 0)
        with np.errstate(invalid="ignore"):
            grey = np.nan_to_num(255 * np.clip((figure - low) / (high - low or 1), 0, 1)).astype(np.uint8)
    else:
        labels, index = np.unique(figure, return_inverse=True)
        return label_colours(labels)[index.reshape(figure.shape)]
    return np.repeat(grey[..., None], 3, axis=2)


def label_colours(labels: np.ndarray) -> np.ndarray:
    """The colours of labels (n,), uint8 (n, 3): hues far apart for successive labels, grey for negative ones."""
    hue = (labels.astype(np.float64) * GOLDEN_RATIO)[:, None] + HUE_SHIFT
    wave = np.clip(np.abs(hue % 1 * 6 - 3) - 1, 0, 1)
    bright = np.where(labels % 2, 0.75, 1.0)[:, None]
    colours = np.rint(255 * bright * (0.25 + 0.75 * wave)).astype(np.uint8)
    colours[labels < 0] = UNKNOWN
    return colours


def thumbnail(figure: np.ndarray) -> np.ndarray:
    """Every k-th pixel of a large figure, so that no side exceeds MAX_SIDE; uint8 RGB."""
    longest = max(figure.shape[:2])
    step = -(-longest // MAX_SIDE)
    small = coloured(np.asarray(figure[::step, ::step]))
    factor = -(-MIN_SIDE // longest)
    return small.repeat(factor, axis=0).repeat(factor, axis=1)


def png(rgb: np.ndarray) -> bytes:
    """A PNG file of a uint8 RGB figure (H, W, 3)."""
    from PIL import Image

    file = BytesIO()
    Image.fromarray(rgb).save(file, "png")
    return file.getvalue()


def axes_or_current(ax: Any) -> Any:
    """`ax`, or matplotlib's current axes if it is None; ImportError without matplotlib."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plot() needs matplotlib, which cannot be imported; pip install matplotlib") from error
    return pyplot.gca()


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
