"""Superpixels: an image divided into connected regions of nearly one colour, as many as asked for.

Pixels are the vertices of a graph, joined to their four neighbours.  Level by level a greedy matching pairs regions
that should become one, pairs that are nearly the best choice for both are merged, and the merged regions are looked at
afresh (matching.hierarchy).  So there is a hierarchy down to a single region, and any number can be had from it.

What a merge costs is the piecewise constant functional of Mumford and Shah as Koepfler, Lopez and Morel merge by it
[1]: by how much the squared colour error rises, over the length of the boundary that goes.  For regions of a and b
pixels that meet along a boundary of length l,

                a b     |mean_a - mean_b|^2 + regularity^2
    cost  =    ------ * --------------------------------  *  min(1, a b / (a + b) / SPECK_PIXELS)
               a + b                   l

with colours in CIELAB.  Ours: `regularity`, without which plain areas become giant regions while a texture falls into
crumbs; and the last factor, without which single odd pixels outlive everything.

[1] Koepfler, Lopez, Morel. "A multiscale algorithm for image segmentation by variational method." SIAM Journal on
    Numerical Analysis 31, 1994.
[2] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
"""

import time
from dataclasses import dataclass, field
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike

import matching
from apps.common.images import InputError, to_rgb
from gridcut.device import kernel

REGULARITY = 4.5
SPECK_PIXELS = 32.0  # pixels; twice that is the area below which a region finds its merges cheap
DOMINANCE = 0.8  # a merge waits while 0.8 of its cost is more than the least that either side could have


@dataclass(frozen=True, slots=True, eq=False)
class Superpixels:
    """An image divided into regions, and the hierarchy they come from.

    Attributes
    ----------
    labels : ndarray of int32, shape (H, W)
        The region of each pixel, 0 ... regions - 1 in the order of their first pixels, row by row.  Each region is
        connected through pixels that share a side.
    regions : int
        Their number.
    seconds : dict
        Time by phase.
    """

    labels: np.ndarray
    regions: int
    seconds: dict
    _hierarchy: matching.Hierarchy = field(repr=False)

    def labels_at(self, regions: int) -> np.ndarray:
        """Labels (H, W) of another number of regions, 1 to H * W, from the same hierarchy; O(H * W).

        Regions of a smaller number are unions of those of a larger one.
        """
        check_regions(regions, self.labels.shape)
        return self._hierarchy.at(regions).reshape(self.labels.shape)


@kernel
def grid_kernel(height, width, ptr, adj):
    """The graph of the pixels, rows in ascending order; writes ptr and adj."""
    k = 0
    for y in range(height):
        for x in range(width):
            v = y * width + x
            ptr[v] = k
            if y > 0:
                adj[k] = v - width
                k += 1
            if x > 0:
                adj[k] = v - 1
                k += 1
            if x < width - 1:
                adj[k] = v + 1
                k += 1
            if y < height - 1:
                adj[k] = v + width
                k += 1
    ptr[height * width] = k


@kernel
def sum_kernel(label, fine, coarse):
    """Sums of colours of merged regions; writes coarse."""
    coarse[:] = 0
    for v in range(label.size):
        for i in range(3):
            coarse[label[v], i] += fine[v, i]


@kernel
def rate_kernel(ptr, adj, length, share, mean, floor, speck, rate):
    """One over the cost of each merge, the same at both ends to the last bit; writes rate.

    share[v]   one over the pixels of v
    """
    for v in range(ptr.size - 1):
        for k in range(ptr[v], ptr[v + 1]):
            w = adj[k]
            difference = floor
            for i in range(3):
                difference += (mean[v, i] - mean[w, i]) ** 2
            shares = share[v] + share[w]
            rate[k] = shares * length[k] * max(1.0, speck * shares) / difference


class _Rating:
    """What each merge of a level is worth; remembers the sums of colours from one level to the next."""

    def __init__(self, lab, floor):
        self.sums = lab.reshape(-1, 3).astype(np.float64)
        self.floor = floor

    def __call__(self, level: matching.CoarseGraph) -> np.ndarray:
        graph, size = level.graph, level.vertex_weight
        if len(size) < len(self.sums):
            fine, self.sums = self.sums, np.empty((len(size), 3))
            sum_kernel(level.label, fine, self.sums)
        rate = np.empty(graph.nnz)
        share = 1.0 / size
        mean = self.sums * share[:, None]
        rate_kernel(graph.indptr, graph.indices, graph.data, share, mean, self.floor, SPECK_PIXELS, rate)
        return rate


def superpixels(
    image: ArrayLike,
    regions: int = 500,
    *,
    regularity: float = REGULARITY,
    threads: int | None = None,
    device: str = "auto",
) -> Superpixels:
    """Divide an image into connected regions of nearly one colour.

    Parameters
    ----------
    image : array_like, shape (H, W), (H, W, 3) or (H, W, 4)
        Grey, RGB or RGBA image; uint8, uint16, or floats in [0, 1].
    regions : int, default 500
        Exact number of regions, 1 to H * W.
    regularity : float, default 4.5
        Colour difference in CIELAB below which regions are merged by size rather than by colour.  Larger values give
        regions of more equal sizes; smaller values follow finer differences.
    threads : int, optional
        Maximum number of threads; the labels do not depend on it.
    device : {"auto", "cpu", "cuda"}, default "auto"
        Where the greedy matchings are computed.  "auto" is the CPU, because most levels are small.

    Returns
    -------
    Superpixels
        `labels` is int32 (H, W) with values 0 to regions - 1; `labels_at(n)` returns the labels of any other number of
        regions of the same hierarchy.

    Raises
    ------
    InputError
        A ValueError with a one-line message: the image has another shape or type, or a parameter is out of range.

    Notes
    -----
    One to two microseconds and about 260 bytes per pixel.

    Examples
    --------
    >>> import numpy as np
    >>> from apps.superpixels import superpixels
    >>> image = np.zeros((6, 8), np.uint8)
    >>> image[:, 4:] = 255
    >>> found = superpixels(image, 2)
    >>> found.labels[0]
    array([0, 0, 0, 0, 1, 1, 1, 1], dtype=int32)
    >>> int(found.labels_at(5).max())
    4
    """
    import cv2

    begin = time.perf_counter()
    rgb = to_rgb(image)
    height, width = rgb.shape[:2]
    check_regions(regions, (height, width))
    if isinstance(regularity, bool) or not isinstance(regularity, Real) or not 1e-6 <= regularity < 1e6:
        raise InputError(f"regularity must be a colour difference above 0, got {regularity!r}; 1e-6 to 1e6 will do")
    n = height * width
    if 4 * n > np.iinfo(np.int32).max:
        raise InputError(f"image has {n} pixels; at most {np.iinfo(np.int32).max // 4} are possible, make it smaller")
    device = "cpu" if device == "auto" else device  # most levels are too small to be worth the way to a GPU
    rating = _Rating(cv2.cvtColor(rgb, cv2.COLOR_RGB2LAB), float(regularity) ** 2)
    ptr, adj = np.empty(n + 1, np.int64), np.empty(4 * n - 2 * height - 2 * width, np.int32)
    grid_kernel(height, width, ptr, adj)
    start = time.perf_counter()
    found = matching.hierarchy(
        (ptr, adj, (n, n)), rating=rating, dominance=DOMINANCE, join=True, graphs=False, threads=threads, device=device
    )
    middle = time.perf_counter()
    labels = found.at(regions).reshape(height, width)
    seconds = {"colours": start - begin, "hierarchy": middle - start, "total": time.perf_counter() - begin}
    return Superpixels(labels, int(regions), seconds, found)


def check_regions(regions, shape) -> None:
    """Refuse a number of regions that the image cannot have."""
    pixels = shape[0] * shape[1]
    if isinstance(regions, bool) or not isinstance(regions, Integral) or not 1 <= regions <= pixels:
        raise InputError(f"regions must be an integer from 1 to {pixels}, the pixels of this image; got {regions!r}")


def outlines(labels: np.ndarray) -> np.ndarray:
    """Pixels that share a side with one of another region; bool (H, W)."""
    found = np.zeros(labels.shape, bool)
    beside, below = labels[:, 1:] != labels[:, :-1], labels[1:] != labels[:-1]
    found[:, 1:] |= beside
    found[:, :-1] |= beside
    found[1:] |= below
    found[:-1] |= below
    return found


def outline_figure(rgb: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The image (H, W, 3) in [0, 1] with a line along the boundaries; uint8 RGB."""
    import cv2

    from apps.common.figures import OUTLINE_COLOUR
    from apps.common.images import to_bytes

    line = np.zeros(labels.shape, np.uint8)
    line[:, 1:] |= labels[:, 1:] != labels[:, :-1]
    line[1:] |= labels[1:] != labels[:-1]
    width = 1 + max(labels.shape) // 1000
    shown = rgb.copy()
    shown[cv2.dilate(line, np.ones((width, width), np.uint8)) > 0] = OUTLINE_COLOUR
    return to_bytes(shown)


def mean_figure(rgb: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Every region in the mean of its colours; uint8 RGB."""
    from apps.common.images import to_bytes

    flat = labels.ravel()
    count = np.bincount(flat)
    means = [np.bincount(flat, rgb[..., i].ravel()) / np.maximum(count, 1) for i in range(3)]
    return to_bytes(np.stack(means, axis=1)[labels])
