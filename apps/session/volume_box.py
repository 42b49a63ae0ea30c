"""The object in a box of a volume, found from the box alone; later it serves as a rough mask (see volume_prior).

All voxels outside are background.  Fits of histograms and exact cuts of the box alternate, as for a box in an image
(apps.segment.segmentation), from several initial shares of the box; the result of minimum energy is taken.  The initial
object are the voxels farthest from the faces of the box.  Objects that span too little of the box do not win; if there
is no other, the deepest voxels are constrained to be object.

Of a box with more than MAX_VOXELS, every second voxel along each axis is used, or every third, and so on, since the
result is refined in any case.
"""

import math
from collections.abc import Callable

import numpy as np

from apps.segment.fit import MAX_CHANGED_SHARE, SEED_SHARE
from apps.segment.grid_cut import GridCut
from apps.segment.marks import BACKGROUND, OPEN
from apps.segment.model import BOX_SHARES
from apps.segment.plausible_objects import BOX_SPAN
from apps.segment.terms import blend
from apps.segment.volume_view import BINS, Histograms, VolumeView
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
    index = np.ix_(*used)
    grey = view.grey[index]
    marks = np.full(grey.shape, BACKGROUND, np.int16)
    marks[box] = OPEN
    depth, outside = _depth_of(part, view.shape)[::step, ::step, ::step], _levels_outside(view.grey, part)
    cut = GridCut(lambda: view.edges_of(grey), device)

    def descend(share: float, shallow: float) -> tuple[float, np.ndarray]:
        middle, rim = depth >= np.quantile(depth, 1 - share), depth <= np.quantile(depth, shallow)
        object_counts, counts = _levels(grey[box][middle]), blend(outside, _levels(grey[box][rim]))
        best: tuple[float, np.ndarray] | None = None
        for _ in range(ROUNDS):
            check()
            models = Histograms((0, 1), np.stack([counts, object_counts]))
            cut.load(view.costs(models, index), marks)
            mask = cut.solve(check)[box] > 0
            assert cut.energy is not None
            if best is not None and cut.energy > best[0]:
                break
            converged = best is not None and np.count_nonzero(best[1] != mask) <= MAX_CHANGED_SHARE * mask.size
            best = cut.energy, mask
            if converged or not mask.any():
                break
            object_counts = _levels(grey[box][mask])
            counts = blend(outside, _levels(grey[box]) - object_counts)
        assert best is not None
        return best

    found = [descend(*start) for start in BOX_SHARES]
    plausible = [one for one in found if _is_plausible(one[1])]
    if not plausible:
        marks[box][depth >= np.quantile(depth, 1 - SEED_SHARE)] = 1
        plausible = [descend(*start) for start in BOX_SHARES]
    best = min(plausible, key=lambda one: one[0])[1]
    mask = np.zeros(view.shape, bool)
    mask[part] = best[np.ix_(*(np.arange(p.stop - p.start) // step for p in part))]
    return mask


def _levels(grey: np.ndarray) -> np.ndarray:
    return np.bincount(grey.ravel(), minlength=BINS)


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


def _levels_outside(grey: np.ndarray, part) -> np.ndarray:
    """Voxels per grey level around a box."""
    around = []
    for one, size in zip(part, grey.shape, strict=True):
        far = max(1, round(CONTEXT * (one.stop - one.start)))
        around.append(slice(max(0, one.start - far), min(size, one.stop + far)))
    return _levels(grey[tuple(around)]) - _levels(grey[part])


def _is_plausible(mask: np.ndarray) -> bool:
    """Whether an object spans enough of its box along all axes."""
    if not mask.any():
        return False
    spans = [np.ptp(np.flatnonzero(mask.any(axis=tuple({0, 1, 2} - {axis})))) + 1 for axis in range(3)]
    return all(span >= BOX_SPAN * size for span, size in zip(spans, mask.shape, strict=True))
