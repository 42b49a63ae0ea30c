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

import numpy as np

from apps.common.clock import Clock
from apps.motion.matches import Matches
from apps.optical_flow.frame import Frame, for_both
from apps.optical_flow.refine import Level

SEED_SCALE = 0.25  # size of the finest level of the seeds
MAX_RETURN = 1.5  # pixels of that level: forward-backward error
MAX_DEVIATION = 2.0  # pixels of that level: difference to the motion of a supporting neighbour
MIN_SUPPORT = 4  # supporting neighbours, of eight
NEIGHBOURS = 20  # matches to which each affine model of the fill is fitted
MIN_SCALE, MAX_SCALE = 0.25, 0.7  # sizes of the coarsest and of the finest level of refinement
LEVELS = 7
MIN_SIDE = 24  # pixels, of the coarsest level
FIXED_POINT_ITERATIONS, SOR_ITERATIONS = 3, 5
WEIGHTED_LEVELS = (0, 2)  # with the weighted median, counted from the coarsest; the others have a 5 x 5 median
CHECKED_LEVEL = 4  # at half the size: where hidden pixels are filled and the backward flow is computed


def fast_flow(
    first: Frame, second: Frame, matches: Matches | None, device, clock: Clock
) -> tuple[np.ndarray, np.ndarray, Matches]:
    """Return the flow (H, W, 2), the valid pixels (H, W) and the matches; given ones are added to the linked seeds."""
    import cv2

    from apps.optical_flow.fill import fill_flow
    from apps.optical_flow.fusion import fuse
    from apps.optical_flow.refine import filtered, unweighted_median, variational
    from apps.optical_flow.resizing import resized

    for_both(lambda frame: frame.coarse_descriptors(SEED_SCALE), first, second)
    rest = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_ULTRAFAST).calc(
        first.grey_bytes, second.grey_bytes, None
    )
    clock.charge("rest")
    linked = linked_seeds(first, second, device, clock)
    sizes = level_sizes(first.shape)
    level = _level(first, second, sizes[0], True)
    motion = resized(rest, sizes[0])
    known = [linked] if matches is None else [matches, linked]
    ends = [np.concatenate([getattr(one, end) for one in known]) for end in ("first", "second")]
    if len(ends[0]):
        scale = np.array(sizes[0][::-1]) / np.array(first.shape[::-1])
        filled = fill_flow(level.lab[0], *((end + 0.5) * scale - 0.5 for end in ends), neighbours=NEIGHBOURS)
        clock.charge("fill")
        motion = fuse(level, motion, filled, device)
        clock.charge("fuse")
    checked = min(CHECKED_LEVEL, len(sizes) - 1)
    for number, size in enumerate(sizes):
        weighted = number in WEIGHTED_LEVELS
        level = _level(first, second, size, weighted or number == checked)
        motion = variational(level, resized(motion, size), FIXED_POINT_ITERATIONS, SOR_ITERATIONS)
        motion = filtered(level, motion) if weighted else unweighted_median(motion)
        if number == checked:
            clock.charge("refine")
            motion, valid = _checked(level, motion, clock)
    height, width = first.shape
    motion = resized(motion, (height, width))
    valid = cv2.resize(valid.astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST) > 0
    clock.charge("refine")
    return motion, valid, linked if matches is None else matches


def _level(first: Frame, second: Frame, size: tuple[int, int], with_lab: bool) -> Level:
    """Return a level of both frames; the Lab colours are left out where no stage compares them."""
    frames = first, second
    lab = tuple(frame.lab_at(size) for frame in frames) if with_lab else ()
    return Level(tuple(frame.grey_at(size) for frame in frames), lab)


def level_sizes(shape: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the sizes (height, width) of the levels of refinement of a frame, coarsest first."""
    coarsest = min(max(MIN_SCALE, MIN_SIDE / min(shape)), MAX_SCALE)
    scales = coarsest * (MAX_SCALE / coarsest) ** (np.arange(LEVELS) / (LEVELS - 1))
    return list(dict.fromkeys((round(shape[0] * scale), round(shape[1] * scale)) for scale in scales))


def linked_seeds(first: Frame, second: Frame, device, clock: Clock) -> Matches:
    """Return the seeds linked one-to-one; cost and margin in square pixels of the level of the seeds."""
    from apps.motion.linking import link
    from apps.optical_flow.propagate import are_supported, follow_both

    seeds = follow_both(first.coarse_descriptors(SEED_SCALE), second.coarse_descriptors(SEED_SCALE))
    clock.charge("propagate")
    row, col, cost = pairs_of_seeds(seeds.x, seeds.y, seeds.motion, seeds.back_motion, MAX_RETURN)
    count = len(seeds.x) * len(seeds.y)
    links = link(row, col, cost, (count, count), MAX_RETURN**2, device, exact_margin=False)
    is_linked = np.zeros(seeds.motion.shape[:2], bool)
    is_linked.ravel()[row[links.pair]] = True
    kept = are_supported(seeds.motion, is_linked, MAX_DEVIATION, MIN_SUPPORT)
    pair = kept.ravel()[row[links.pair]]  # pairs are sorted by row, as `kept` is
    cost = cost[links.pair][pair].astype(np.float64)
    found = Matches(*seeds.ends(kept, first.shape), cost, links.margin[pair], 1 - cost / MAX_RETURN**2)
    clock.charge("match")
    return found


def _checked(level: Level, motion: np.ndarray, clock: Clock) -> tuple[np.ndarray, np.ndarray]:
    """Return the flow with hidden pixels filled, and the pixels where the backward flow agrees."""
    from apps.optical_flow.occlusion import fill_hidden, hidden_pixels, is_consistent, owners

    is_hidden = hidden_pixels(motion, owners(level, motion))
    motion = fill_hidden(level, motion, is_hidden)
    clock.charge("hidden")
    valid = is_consistent(level, motion, owners(level, motion)) & ~is_hidden
    clock.charge("consistency")
    return motion, valid


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
