"""What colours near a pixel say about an object: ratios of two histograms that change from place to place.

One model for a whole image confuses an object with a part of the background of the same colour that is far away.  So
the image is divided into square cells.  Each cell has a histogram of the known object and one of the known background;
both are smoothed over the neighbouring cells and colours.  Where a cell has few known pixels, the histogram of the
whole image prevails, as if PRIOR_PIXELS of its pixels were in the cell (a Dirichlet prior).
"""

import numpy as np

BINS = (6, 8, 8)  # of L, a and b: about 16 units of CIELAB, several times the noise of a photograph
RANGE_OF_AB = 60.0  # a and b beyond it are counted in the first or last bin; photographs hardly exceed it
PRIOR_PIXELS = 100.0  # of the whole image's histogram in each cell: about one pixel per bin that is in use
UNSEEN = 0.01  # share of a uniform histogram in the whole image's, so that no ratio is infinite


def local_preference(lab, inside, outside, where, cell: float) -> np.ndarray:
    """Log of the probability of a pixel's colour in the object over that in the background nearby, in nats.

    Parameters
    ----------
    lab : ndarray of float32, shape (H, W, 3)
        CIELAB.
    inside, outside : ndarray of bool, shape (H, W)
        Pixels known to be object and background.
    where : tuple of two arrays
        Rows and columns of n pixels.
    cell : float
        Side of a cell in pixels.

    Returns
    -------
    ndarray of float32, shape (n,)
        Positive where the colour is more frequent in the object; interpolated between the centres of cells.
    """
    H, W = inside.shape
    cells = max(1, round(H / cell)), max(1, round(W / cell))
    ratio = np.log(_densities(lab, inside, cells)) - np.log(_densities(lab, outside, cells))
    colours = _bins(lab[where])
    (y0, y1, dy), (x0, x1, dx) = (_between(at, n, size) for at, n, size in zip(where, cells, (H, W), strict=True))
    upper = (1 - dx) * ratio[y0, x0, colours] + dx * ratio[y0, x1, colours]
    lower = (1 - dx) * ratio[y1, x0, colours] + dx * ratio[y1, x1, colours]
    return (1 - dy) * upper + dy * lower


def _densities(lab, known, cells) -> np.ndarray:
    """Smoothed histogram of the known pixels around each cell, float32 (*cells, bins), each of sum 1."""
    rows, columns = np.nonzero(known)
    place = rows * cells[0] // known.shape[0] * cells[1] + columns * cells[1] // known.shape[1]
    bins = int(np.prod(BINS))
    counts = np.bincount(place * bins + _bins(lab[known]), minlength=cells[0] * cells[1] * bins)
    counts = counts.reshape(*cells, *BINS).astype(np.float32)
    for axis in range(5):
        counts = _smoothed(counts, axis, keep_ends=axis > 1)
    counts = counts.reshape(*cells, bins)
    total = counts.sum(axis=(0, 1))
    whole = (1 - UNSEEN) * total / max(float(total.sum()), 1.0) + UNSEEN / bins
    whole /= whole.sum()
    return (counts + PRIOR_PIXELS * whole) / (counts.sum(axis=2, keepdims=True) + PRIOR_PIXELS)


def _smoothed(counts, axis: int, keep_ends: bool) -> np.ndarray:
    """Counts with a quarter moved to each neighbour along an axis; at the ends it stays (`keep_ends`) or is dropped."""
    counts = np.moveaxis(counts, axis, 0)
    out = 0.5 * counts
    out[1:] += 0.25 * counts[:-1]
    out[:-1] += 0.25 * counts[1:]
    if keep_ends:
        out[0] += 0.25 * counts[0]
        out[-1] += 0.25 * counts[-1]
    return np.moveaxis(out, 0, axis)


def _bins(lab) -> np.ndarray:
    """Bin of each of the colours (n, 3)."""
    first = np.array([0, -RANGE_OF_AB, -RANGE_OF_AB], np.float32)
    per_unit = np.array(BINS, np.float32) / np.array([100, 2 * RANGE_OF_AB, 2 * RANGE_OF_AB], np.float32)
    parts = np.clip(((lab - first) * per_unit).astype(np.int32), 0, np.array(BINS, np.int32) - 1)
    return (parts[..., 0] * BINS[1] + parts[..., 1]) * BINS[2] + parts[..., 2]


def _between(at, cells: int, size: int):
    """The two cells whose centres enclose each position, and the weight of the second."""
    place = np.clip((at + 0.5) * (cells / size) - 0.5, 0, cells - 1)
    first = np.minimum(place.astype(np.int64), max(0, cells - 2))
    return first, np.minimum(first + 1, cells - 1), (place - first).astype(np.float32)
