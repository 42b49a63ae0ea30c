"""The object in a box of a volume, found from the box alone; later it serves as a rough mask (see volume_prior).

All voxels outside are background.  Fits of histograms and exact cuts of the box alternate, as for a box in an image
(apps.segmentation.segmentation), from several initial shares of the box; the result of minimum energy is taken.  The
initial object are the voxels farthest from the faces of the box.  Objects that span too little of the box do not win;
if there is no other, the deepest voxels are constrained to be object.

Of a box with more than MAX_VOXELS, every second voxel along each axis is used, or every third, and so on, since the
result is refined in any case.
"""

import math
from collections.abc import Callable

import numpy as np

from apps.segmentation.fit import SEED_SHARE, Found, found_from, is_plausible
from apps.segmentation.grid_cut import NO_LOCATION, GridCut
from apps.segmentation.hints import Hints, ObjectOptions
from apps.segmentation.marks import BACKGROUND, OBJECT, OPEN
from apps.segmentation.model import BOX_SHARES, Prior
from apps.segmentation.volume_view import BINS, VolumeView
from apps.session.volume_prior import grown
from gridcut.device import DeviceName

ROUNDS = 5  # of fits and cuts, at most
MAX_VOXELS = 1_000_000
CONTEXT = 0.5  # of the sides of the box: how far around it the background's grey levels are taken


def object_in_box(
    view: VolumeView, part: tuple[slice, ...], device: DeviceName, check: Callable[..., None]
) -> np.ndarray:
    """Mask, bool (D, H, W), of the object in a part of the volume; never empty.  `check` may raise at any time."""
    size = math.prod(p.stop - p.start for p in part)
    step = math.ceil(np.cbrt(size / MAX_VOXELS))
    inside = [np.arange(p.start, p.stop, step) for p in part]
    # The voxels used, with the neighbours of the box, which are background.
    ends = [
        ([p.start - 1] if p.start else [], [p.stop] if p.stop < n else [])
        for p, n in zip(part, view.shape, strict=True)
    ]
    used = [
        np.concatenate([low, places, high]).astype(np.intp) for (low, high), places in zip(ends, inside, strict=True)
    ]
    box = tuple(slice(len(low), len(low) + len(places)) for (low, _), places in zip(ends, inside, strict=True))
    small = view.part(np.ix_(*used))
    marks, depth = np.full(small.shape, BACKGROUND, np.int16), np.full(small.shape, np.nan, np.float32)
    marks[box], depth[box] = OPEN, _depth_of(part, view.shape)[::step, ::step, ::step]
    prior = Prior((BACKGROUND, OBJECT), [_levels_outside(view, part), np.zeros(BINS)], NO_LOCATION)
    hints = Hints(marks, options=ObjectOptions("all"), rounds=ROUNDS)
    cut = GridCut(small.edges, device)

    def found_with(marks: np.ndarray) -> list[Found]:
        starts = [(depth <= np.nanquantile(depth, shallow), depth >= deepest(share)) for share, shallow in BOX_SHARES]
        initial = [prior.blended([small.counts(mask) for mask in masks]) for masks in starts]
        return found_from(small, hints, prior._replace(initial=initial), marks, cut, check)

    def deepest(share: float) -> float:
        return float(np.nanquantile(depth, 1 - share))

    found = [one for one in found_with(marks) if is_plausible(one.mask, marks)]
    if not found:
        found = found_with(np.where(depth >= deepest(SEED_SHARE), np.int16(OBJECT), marks))
    best = min(found, key=lambda one: one.energies[-1]).mask[box]
    mask = np.zeros(view.shape, bool)
    mask[part] = best[np.ix_(*(np.arange(p.stop - p.start) // step for p in part))]
    return mask


def _depth_of(part, volume_shape) -> np.ndarray:
    """Distance of the box's voxels from its nearest face, in shares of its sides; sides of the volume are no faces."""
    shape = tuple(p.stop - p.start for p in part)
    depth = np.full(shape, np.inf, np.float32)
    for axis, (one, size) in enumerate(zip(part, volume_shape, strict=True)):
        place = np.arange(shape[axis], dtype=np.float32) + 0.5
        ends = [place] if one.start else []
        ends += [shape[axis] - place] if one.stop < size else []
        if ends:
            share = np.minimum.reduce(ends) / shape[axis]
            depth = np.minimum(depth, share.reshape([-1 if k == axis else 1 for k in range(3)]))
    return depth


def _levels_outside(view: VolumeView, part) -> np.ndarray:
    """Voxels per grey level around a box."""
    around = grown(part, view.shape, [max(1, round(CONTEXT * (one.stop - one.start))) for one in part])
    large, box = (np.bincount(view.grey[where].ravel(), minlength=BINS) for where in (around, part))
    return large - box
