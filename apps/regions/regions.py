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

with colours in CIELAB; apps.regions.merging computes it.  Two changes are ours.  Without `regularity`, uniform
areas become giant regions and textures break into tiny ones.  Without the last factor, single deviating pixels remain
regions up to the top of the hierarchy.

[1] Koepfler, Lopez, Morel. "A multiscale algorithm for image segmentation by variational method." SIAM Journal on
    Numerical Analysis 31, 1994.
[2] Fagginger Auer, Bisseling. "A GPU algorithm for greedy graph matching." Facing the Multicore-Challenge II, 2012.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike

import matching
from apps.common.clock import Clock
from apps.common.images import InputError, to_rgb
from apps.regions import REGIONS, REGULARITY
from gridcut.device import DeviceName
from gridcut.device.result import GridResult


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
        Seconds: "total", and "compile", those of compiling kernels.
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
        Grey, RGB or RGBA image; integers in [0, 255], uint16, or floats in [0, 1].
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
    One to two microseconds per pixel, and about 260 bytes; above 2^20 pixels about 100 bytes, and 40 MB per thread.
    Such images are merged in strips of rows up to regions of a dozen pixels (apps.regions.merging).

    Examples
    --------
    >>> import numpy as np
    >>> from apps import superpixels
    >>> image = np.zeros((6, 8), np.uint8)
    >>> image[:, 4:] = 255
    >>> found = superpixels(image, 2)
    >>> found.labels[0]
    array([0, 0, 0, 0, 1, 1, 1, 1], dtype=int32)
    >>> int(found.labels_at(5).max())
    4
    """
    from apps.regions.merging import image_hierarchy

    clock = Clock()
    rgb = _colours(image)
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
    found = image_hierarchy(rgb, float(regularity), threads, device)
    labels = found.labels_at(regions).reshape(height, width)
    return Superpixels(labels, int(regions), clock.total(), found)


def _colours(image) -> np.ndarray:
    """RGB of an image, as uint8 if it is that already, which takes a quarter of the memory, else float32."""
    if isinstance(image, np.ndarray) and image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] >= 3:
        if 0 not in image.shape and image.shape[2] <= 4:
            return image[..., :3]
    return to_rgb(image)


def check_regions(regions, shape) -> None:
    """Raise InputError unless the image can have this number of regions."""
    pixels = shape[0] * shape[1]
    if isinstance(regions, bool) or not isinstance(regions, Integral) or not 1 <= int(regions) <= pixels:
        raise InputError(f"regions must be an integer from 1 to {pixels}, the number of pixels, got {regions!r}")


def outline_figure(rgb: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Image (H, W, 3), uint8 or in [0, 1], with a line along the boundaries of the regions; uint8 RGB.

    A small image is enlarged, so that the lines do not cover it.
    """
    import cv2

    from apps.common.figures import OUTLINE_COLOUR, enlarged, line_width, zoom_of
    from apps.common.images import to_bytes

    zoom = zoom_of(labels.shape)
    labels = enlarged(labels, zoom)
    line = np.zeros(labels.shape, np.uint8)
    line[:, 1:] |= labels[:, 1:] != labels[:, :-1]
    line[1:] |= labels[1:] != labels[:-1]
    width = line_width(labels.shape)
    shown = enlarged(to_bytes(rgb), zoom)
    shown[cv2.dilate(line, np.ones((width, width), np.uint8)) > 0] = to_bytes(OUTLINE_COLOUR)
    return shown
