"""Dense flow in a seventh of the time: the stages of `apps.optical_flow.dense_flow`, on fewer and smaller levels.

rest        OpenCV's dense inverse search [1] from zero motion, at the preset ULTRAFAST
propagate   follow a grid of seeds at a quarter of the size, from each frame into the other (propagate.py)
link        link the seeds of both frames one-to-one by an exact assignment
fill        interpolate the linked seeds without crossing image edges (apps.optical_flow.fill)
fuse        choose the better of the two flows at each pixel, by an exact cut at that size (apps.optical_flow.fusion)
refine      refine the fused flow up to MAX_SCALE of the size (refine.py); the flow is enlarged from there
hidden, consistency   as in `apps.optical_flow.dense_flow`, at half the size, before the last levels of refinement

A seed of the first frame and a seed of the second agree if their motions cancel.  Each seed may be linked to the four
seeds around the end of its motion.  The cost of a pair is the square of the sum of the two motions, and leaving a seed
unlinked costs the square of MAX_RETURN.

[1] Kroeger et al. "Fast optical flow using dense inverse search." ECCV 2016.
"""

import cv2
import numpy as np

from apps.motion.matches import Matches
from apps.optical_flow.channels import resized
from apps.optical_flow.fill import fill_flow
from apps.optical_flow.frame import CHECKED_LEVEL, WEIGHTED_LEVELS, Frame, for_both
from apps.optical_flow.refine import Proposals, paired

MAX_RETURN = 1.5  # pixels at the size of the seeds: forward-backward error
MAX_DEVIATION = 2.0  # pixels of that size: difference to the motion of a supporting neighbour
MIN_SUPPORT = 4  # supporting neighbours, of eight
NEIGHBOURS = 20  # matches to which each affine model of the fill is fitted
ITERATIONS = 3, 5  # of refinement


def proposals(first: Frame, second: Frame, device) -> Proposals:
    """The fill of the linked seeds, and the flow by inverse search, at the coarsest level."""
    for_both(lambda frame: frame.quick_descriptors, first, second)
    grey = (np.uint8(frame.grey + 0.5) for frame in (first, second))
    rest = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_ULTRAFAST).calc(*grey, None)
    linked = linked_seeds(first, second, device)
    levels = paired(first.quick_levels, second.quick_levels)
    coarsest = len(levels) - 1
    shape = levels[coarsest].shape
    filled = None
    if len(linked):
        scale = np.array(shape[::-1]) / np.array(first.shape[::-1])
        places = ((end + 0.5) * scale - 0.5 for end in (linked.first, linked.second))
        filled = fill_flow(levels[coarsest].lab[0], *places, neighbours=NEIGHBOURS)

    def is_weighted(number: int) -> bool:
        return coarsest - number in WEIGHTED_LEVELS

    checked = max(coarsest - CHECKED_LEVEL, 0)
    how = is_weighted, ITERATIONS
    return Proposals(linked, levels, resized(rest, shape), filled, coarsest, coarsest, checked, how)


def linked_seeds(first: Frame, second: Frame, device) -> Matches:
    """Return the seeds linked one-to-one; cost and margin in square pixels of the level of the seeds."""
    from apps.motion.linking import link
    from apps.optical_flow.propagate import are_supported, follow_both

    seeds = follow_both(first.quick_descriptors, second.quick_descriptors)
    row, col, cost = pairs_of_seeds(seeds.x, seeds.y, seeds.motion, seeds.back_motion, MAX_RETURN)
    count = len(seeds.x) * len(seeds.y)
    links = link(row, col, cost, (count, count), MAX_RETURN**2, device, exact_margin=False)
    is_linked = np.zeros(seeds.motion.shape[:2], bool)
    is_linked.ravel()[row[links.pair]] = True
    kept = are_supported(seeds.motion, is_linked, MAX_DEVIATION, MIN_SUPPORT)
    pair = kept.ravel()[row[links.pair]]  # pairs are sorted by row, as `kept` is
    cost = cost[links.pair][pair].astype(np.float64)
    found = Matches(*seeds.ends(kept, first.shape), cost, links.margin[pair], 1 - cost / MAX_RETURN**2)
    return found


def pairs_of_seeds(x, y, motion: np.ndarray, back_motion: np.ndarray, max_return: float):
    """Return rows, columns and costs of the pairs of seeds whose motions cancel up to `max_return` pixels.

    A seed is paired with the four around the end of its motion.  Numbers count seeds row by row.
    """
    rows, columns, _ = motion.shape
    spacing = x[1] - x[0] if columns > 1 else 1
    left = np.floor((x + motion[..., 0] - x[0]) / spacing).astype(np.int64)
    top = np.floor((y[:, None] + motion[..., 1] - y[0]) / spacing).astype(np.int64)
    row, column = top[..., None] + np.array([0, 0, 1, 1]), left[..., None] + np.array([0, 1, 0, 1])
    is_inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    back = back_motion[np.clip(row, 0, rows - 1), np.clip(column, 0, columns - 1)]
    apart = motion[:, :, None] + back
    cost = apart[..., 0] * apart[..., 0] + apart[..., 1] * apart[..., 1]
    is_pair = is_inside & (cost < np.float32(max_return * max_return))
    seed = np.broadcast_to(np.arange(rows * columns).reshape(rows, columns, 1), is_pair.shape)
    return seed[is_pair], (row * columns + column)[is_pair], cost[is_pair]
