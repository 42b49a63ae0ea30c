"""What a rough mask of a volume says before any fit: costs by location, and grey levels of object and background.

As for images (apps.segmentation.start_mask), the mask is wrong mainly along its surface.  With d the signed distance
from the surface (positive inside) and

    band = max(MIN_BAND, BAND_SHARE * cube root of the mask's voxels)    in units of the shortest side of a voxel,

the cost against the label of the mask is START_WEIGHT * min(1, |d| / band) nats.  The histograms are those of voxels
more than CORE * band from the surface, the background's up to CONTEXT bands.  Near a stroke that contradicts the mask,
the cost is multiplied by a factor that grows from 0 at the stroke to 1 at a distance of DISTRUST * band.

Distances are computed in the part of the volume around the mask; outside of it the cost is constant.
"""

from typing import NamedTuple

import numpy as np

from apps.segmentation.start_mask import BAND_SHARE, CORE, DISTRUST, MIN_BAND, cores_of, costs_of
from apps.segmentation.terms import UNIT
from apps.segmentation.volume_view import BINS, VolumeView

CONTEXT = 3.0  # bands around the mask from which the background's histogram is taken


class VolumePrior(NamedTuple):
    """A rough mask's influence.

    costs             int16 (D, H, W) in 1 / UNIT nats: positive against the object
    inside, outside   voxels per grey level of the object and the background, int64 (BINS,)
    band              in units of the shortest side of a voxel
    """

    costs: np.ndarray
    inside: np.ndarray
    outside: np.ndarray
    band: float


def volume_prior_of(view: VolumeView, mask: np.ndarray) -> VolumePrior:
    """The prior of a start mask, bool (D, H, W), with an object and a background."""
    from scipy import ndimage

    band = max(MIN_BAND, BAND_SHARE * float(np.cbrt(np.count_nonzero(mask))))
    part = grown(ndimage.find_objects(mask.view(np.uint8))[0], mask.shape, CONTEXT * band / view.spacing)
    shape, grey = mask[part], view.grey[part]
    depth = (_distances(shape, view.spacing) - _distances(~shape, view.spacing)) / np.float32(band)
    costs = np.full(mask.shape, int(UNIT * costs_of(np.array(-1, np.float32))), np.int16)
    costs[part] = np.rint(UNIT * costs_of(depth))
    inside, outside = cores_of(depth, CORE)
    counts = [np.bincount(grey[core], minlength=BINS) for core in (inside, outside & (depth >= -CONTEXT))]
    if not counts[1].any():  # a voxel is thicker than the context
        counts[1] = np.bincount(grey[outside], minlength=BINS)
    return VolumePrior(costs, counts[0], counts[1], band)


def trusted_costs(prior: VolumePrior, marks: np.ndarray, spacing: np.ndarray) -> np.ndarray:
    """The costs of the prior, reduced to 0 near the marks (D, H, W) that contradict the mask."""
    from scipy import ndimage

    wrong = ((marks > 0) & (prior.costs > 0)) | ((marks == 0) & (prior.costs < 0))
    if not wrong.any():
        return prior.costs
    far = DISTRUST * prior.band
    part = grown(ndimage.find_objects(wrong.view(np.uint8))[0], marks.shape, far / spacing)
    costs = prior.costs.copy()
    costs[part] = np.rint(costs[part] * np.minimum(1, _distances(~wrong[part], spacing) / np.float32(far)))
    return costs


def _distances(inside: np.ndarray, spacing: np.ndarray) -> np.ndarray:
    """Distance of each True voxel to the nearest False one, which must exist; float32."""
    from scipy import ndimage

    return ndimage.distance_transform_edt(inside, sampling=spacing).astype(np.float32)


def grown(part: tuple[slice, ...], shape, by) -> tuple[slice, ...]:
    """A part of a grid, larger by a number of voxels along each axis."""
    return tuple(
        slice(max(0, one.start - int(np.ceil(far))), min(size, one.stop + int(np.ceil(far))))
        for one, size, far in zip(part, shape, by, strict=True)
    )
