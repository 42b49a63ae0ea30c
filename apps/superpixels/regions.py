"""Superpixels: divide an image into connected regions of nearly one colour, in exactly the number requested.

The vertices of the graph are pixels, connected to their four neighbours.  On each level a greedy matching pairs
regions, pairs whose merge is nearly the best for both are merged, and the merged regions form the next level
(matching.hierarchy).  The hierarchy ends in a single region and contains every number of regions.

The cost of a merge is based on the piecewise constant functional of Mumford and Shah, as in the merging of Koepfler,
Lopez and Morel [1]: the increase of the squared colour error, divided by the length of the boundary removed.  For
regions of a and b pixels with a common boundary of length l,

                a b     |mean_a - mean_b|^2 + regularity^2
    cost  =    ------ * --------------------------------  *  min(1, a b / (a + b) / SPECK_PIXELS)
               a + b                   l

with colours in CIELAB.  Two changes are ours.  Without `regularity`, uniform areas become giant regions and textures
break into tiny ones.  Without the last factor, single deviating pixels remain regions up to the top of the hierarchy.

[1] Koepfler, Lopez, Morel. "A multiscale algorithm for image segmentation by variational method." SIAM Journal on
    Numerical Analysis 31, 1994.
[2] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
"""

from dataclasses import dataclass, field
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike

import matching
from apps.common.clock import Clock
from apps.common.images import InputError, to_rgb
from apps.superpixels import REGIONS, REGULARITY
from gridcut.device import DeviceName, kernel
from gridcut.device.result import GridResult

SPECK_PIXELS = 32.0  # pixels; merges of regions below twice this area are cheaper
DOMINANCE = 0.8  # a merge is postponed if 0.8 of its cost exceeds the minimum of either region


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Superpixels(GridResult):
    """Result of `superpixels`: the regions of an image, and the hierarchy that contains them.

    Attributes
    ----------
    labels : ndarray of int32, shape (H, W)
        Region of each pixel, 0 to regions - 1 in raster order of the regions' first pixels.  Regions are 4-connected.
        They are indices into arrays with one entry per region: `means[labels]`, `numpy.bincount(labels.ravel())`.
        `skimage.measure.regionprops` leaves out the label 0; pass `labels + 1`, as the command's files store them.
    regions : int
        Number of regions.
    seconds : dict
        Seconds by stage.
    """

    labels: np.ndarray
    regions: int
    seconds: dict
    _hierarchy: matching.Hierarchy = field(repr=False)

    def labels_at(self, regions: int) -> np.ndarray:
        """Labels of another number of regions of the same hierarchy, in O(H * W) time.

        Each region of a smaller number is a union of regions of a larger number.

        Parameters
        ----------
        regions : int
            Number of regions, 1 to H * W.

        Returns
        -------
        ndarray of int32, shape (H, W)
            Labels 0 to regions - 1.
        """
        check_regions(regions, self.labels.shape)
        return self._hierarchy.labels_at(regions).reshape(self.labels.shape)


@kernel
def grid_kernel(height, width, ptr, adj):
    """Write the 4-neighbour graph of the pixels to `ptr` and `adj`, with sorted rows."""
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
    """Write the colour sums of merged regions to `coarse`."""
    coarse[:] = 0
    for v in range(label.size):
        for i in range(3):
            coarse[label[v], i] += fine[v, i]


@kernel
def rate_kernel(ptr, adj, length, share, mean, floor, speck, rate):
    """Write the reciprocal cost of each merge to `rate`, bitwise equal at both ends of an edge.

    share[v]   reciprocal of the number of pixels of v
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
    """Ratings of the merges of a level; keeps the colour sums from one level to the next."""

    def __init__(self, lab, floor):
        self.sums = lab.reshape(-1, 3).astype(np.float64)
        self.floor = floor

    def __call__(self, level: matching.CoarseGraph) -> np.ndarray:
        graph, size = level.graph, level.vertex_weight
        assert graph is not None, "`coarsen` passes every level with its graph"
        if len(size) < len(self.sums):
            fine, self.sums = self.sums, np.empty((len(size), 3))
            sum_kernel(level.labels, fine, self.sums)
        rate = np.empty(graph.nnz)
        share = 1.0 / size
        mean = self.sums * share[:, None]
        rate_kernel(graph.indptr, graph.indices, graph.data, share, mean, self.floor, SPECK_PIXELS, rate)
        return rate


def superpixels(
    image: ArrayLike,
    regions: int = REGIONS,
    *,
    regularity: float = REGULARITY,
    threads: int | None = None,
    device: DeviceName = "auto",
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

    clock = Clock()
    rgb = to_rgb(image)
    height, width = rgb.shape[:2]
    check_regions(regions, (height, width))
    if isinstance(regularity, bool) or not isinstance(regularity, Real) or not 1e-6 <= regularity < 1e6:
        raise InputError(f"regularity must be a colour difference from 1e-6 to 1e6, got {regularity!r}")
    n = height * width
    if 4 * n > np.iinfo(np.int32).max:
        raise InputError(
            f"image has {n} pixels, but at most {np.iinfo(np.int32).max // 4} are supported; pass a smaller image"
        )
    device = "cpu" if device == "auto" else device  # most levels are too small for the transfer to a GPU to pay off
    rating = _Rating(cv2.cvtColor(rgb, cv2.COLOR_RGB2LAB), float(regularity) ** 2)
    ptr, adj = np.empty(n + 1, np.int64), np.empty(4 * n - 2 * height - 2 * width, np.int32)
    grid_kernel(height, width, ptr, adj)
    clock.charge("colours")
    found = matching.hierarchy(
        (ptr, adj, (n, n)), rating=rating, dominance=DOMINANCE, join=True, graphs=False, threads=threads, device=device
    )
    clock.charge("hierarchy")
    labels = found.labels_at(regions).reshape(height, width)
    return Superpixels(labels, int(regions), clock.total(), found)


def check_regions(regions, shape) -> None:
    """Raise InputError unless the image can have this number of regions."""
    pixels = shape[0] * shape[1]
    if isinstance(regions, bool) or not isinstance(regions, Integral) or not 1 <= int(regions) <= pixels:
        raise InputError(f"regions must be an integer from 1 to {pixels}, the number of pixels, got {regions!r}")


def outlines(labels: np.ndarray) -> np.ndarray:
    """Pixels that share a side with a pixel of another region; bool (H, W)."""
    found = np.zeros(labels.shape, bool)
    right, below = labels[:, 1:] != labels[:, :-1], labels[1:] != labels[:-1]
    found[:, 1:] |= right
    found[:, :-1] |= right
    found[1:] |= below
    found[:-1] |= below
    return found


def outline_figure(rgb: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Image (H, W, 3) in [0, 1] with a line along the boundaries of the regions; uint8 RGB."""
    import cv2

    from apps.common.figures import OUTLINE_COLOUR
    from apps.common.images import to_bytes

    line = np.zeros(labels.shape, np.uint8)
    line[:, 1:] |= labels[:, 1:] != labels[:, :-1]
    line[1:] |= labels[1:] != labels[:-1]
    width = 1 + max(labels.shape) // 1000
    shown = to_bytes(rgb)
    shown[cv2.dilate(line, np.ones((width, width), np.uint8)) > 0] = to_bytes(OUTLINE_COLOUR)
    return shown


def mean_figure(rgb: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Image with each region in its mean colour; uint8 RGB."""
    from apps.common.images import to_bytes

    flat = labels.ravel()
    count = np.bincount(flat)
    means = [np.bincount(flat, rgb[..., i].ravel()) / np.maximum(count, 1) for i in range(3)]
    return to_bytes(np.stack(means, axis=1))[labels]
