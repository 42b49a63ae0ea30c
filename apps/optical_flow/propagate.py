"""Semi-dense matches by coarse-to-fine PatchMatch on a grid of seeds.

Each seed keeps the motion with the smallest descriptor distance.  It tries the motions of its neighbours on the grid,
in alternating raster order, and pseudo-random changes in a shrinking range [1].  The coarsest level starts from the
motion filled from the sparse matches, and every level tries that motion again.  Both directions are matched.  A seed is
kept if the forward and backward motions cancel and enough of its neighbours move similarly.

Descriptors are histograms of gradient directions, 4 x 4 cells of 8 directions in bytes, as in SIFT but at one scale and
not rotated; their distance is the sum of absolute differences.

[1] Hu, Song, Li. "Efficient coarse-to-fine PatchMatch for large displacement optical flow." CVPR 2016.
"""

from typing import NamedTuple

import cv2
import numpy as np

from apps.optical_flow.channels import resized
from gridcut.device import inner_kernel, kernel, run_threads, thread_count

MAX_SCALE = 0.5  # size of the finest level, as a share of the frame
MAX_PIXELS = 700_000  # of the finest level; a descriptor takes 128 bytes per pixel
SEED_SPACING = 3  # pixels of the finest level
MIN_SIDE = 40  # pixels, of the coarsest level
CELLS_PER_SIDE = 4  # of a descriptor
CELL_SPACING = 3  # pixels between cell centres
MARGIN = CELL_SPACING * CELLS_PER_SIDE  # pixels, by which a frame is extended to have all cells of its pixels
FIRST_CELL = MARGIN - (CELL_SPACING * (CELLS_PER_SIDE - 1)) // 2
DIRECTIONS = 8
BLUR_SIGMA = 1.0  # pixels
SWEEPS = 4  # per level; twice as many on the coarsest
COARSE_SEARCH_SHARE = 0.3  # of the longer side: radius of pseudo-random changes on the coarsest level
SEARCH_RADIUS = 4  # pixels: the same on the other levels
RETURN_TOLERANCE = 1.5  # pixels of the finest level: forward-backward error
MAX_DEVIATION = 2.0  # pixels of the finest level: difference to the motion of a supporting neighbour
MIN_SUPPORT = 4  # supporting neighbours, of eight


def propagate(first: list, second: list, shape: tuple[int, int], forward=None, backward=None):
    """Return matched points (N, 2), x and y, in both frames of shape (H, W), from their descriptors (`described`).

    `forward` and `backward` are initial flows, float32 of any size, from the first and from the second frame, or None.
    """
    seeds = follow_both(first, second, forward, backward)
    mutual = are_mutual(seeds.x, seeds.y, seeds.motion, seeds.back_motion, RETURN_TOLERANCE)
    return seeds.ends(are_supported(seeds.motion, mutual, MAX_DEVIATION, MIN_SUPPORT), shape)


class Seeds(NamedTuple):
    """The grid of seeds of the finest level, the same in both frames, and the motion that each seed follows.

    x, y                  columns and rows of the seeds, int64
    motion, back_motion   from the first frame to the second and back, float32 (rows, columns, 2), pixels of that level
    size                  (height, width) of the level
    """

    x: np.ndarray
    y: np.ndarray
    motion: np.ndarray
    back_motion: np.ndarray
    size: tuple[int, int]

    def ends(self, chosen: np.ndarray, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        """Return the points (N, 2) of the chosen seeds, bool (rows, columns), in both frames of shape (H, W)."""
        scale = np.array([shape[1] / self.size[1], shape[0] / self.size[0]], np.float32)
        grid_x, grid_y = np.meshgrid(self.x, self.y)
        points = np.stack([grid_x[chosen], grid_y[chosen]], axis=1)
        # Pixel centres have integer coordinates at every size.
        return (points + 0.5) * scale - 0.5, (points + self.motion[chosen] + 0.5) * scale - 0.5


def follow_both(first: list, second: list, forward=None, backward=None) -> Seeds:
    """Follow the seeds of each frame into the other, from descriptors and initial flows as in `propagate`."""
    guesses = (forward, backward)

    def follow(direction):
        levels = (first, second) if direction == 0 else (second, first)
        return _follow(list(zip(*levels, strict=True)), guesses[direction], direction)

    results = run_threads(follow, 2) if thread_count() > 1 else [follow(0), follow(1)]
    (x, y, motion), (_, _, back_motion) = results
    return Seeds(x, y, motion, back_motion, first[0].shape[:2])


def described(grey: np.ndarray, max_scale: float = MAX_SCALE) -> list[np.ndarray]:
    """Return the descriptors of a grey frame on each level, the finest, at most `max_scale` of the frame, first."""
    levels: list[np.ndarray] = []
    scale = min(max_scale, (MAX_PIXELS / grey.size) ** 0.5)
    while not levels or min(grey.shape) * scale >= MIN_SIDE:
        size = tuple(max(1, round(side * scale)) for side in grey.shape[::-1])
        levels.append(_described(cv2.resize(grey, size, interpolation=cv2.INTER_AREA)))
        scale /= 2
    return levels


def _described(grey: np.ndarray) -> np.ndarray:
    """Return the descriptor of every pixel, uint8 (H, W, CELLS_PER_SIDE * CELLS_PER_SIDE * DIRECTIONS)."""
    dx, dy = (cv2.Scharr(grey, -1, *direction, scale=1 / 32) for direction in ((1, 0), (0, 1)))
    planes = []
    for angle in 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS:
        response = np.maximum(np.float32(np.cos(angle)) * dx + np.float32(np.sin(angle)) * dy, 0)
        blurred = cv2.GaussianBlur(response, (0, 0), BLUR_SIGMA)
        planes.append(cv2.copyMakeBorder(blurred, *[MARGIN] * 4, cv2.BORDER_REPLICATE))
    descriptors = np.empty((*grey.shape, CELLS_PER_SIDE * CELLS_PER_SIDE * DIRECTIONS), np.uint8)
    describe_kernel(np.stack(planes), cv2.merge(planes), descriptors)
    return descriptors


def _follow(pairs, guess, seed):
    """Return columns and rows of the seeds on the finest level, and their motion, (rows, columns, 2) float32."""
    height, width, _ = pairs[0][0].shape
    x = np.arange(SEED_SPACING // 2, width, SEED_SPACING)
    y = np.arange(SEED_SPACING // 2, height, SEED_SPACING)
    motion = np.empty(0, np.int32)
    for number in range(len(pairs) - 1, -1, -1):
        one, two = pairs[number]
        h, w, _ = one.shape
        at_x = np.minimum((x + 0.5) * w / width, w - 1).astype(np.int64)
        at_y = np.minimum((y + 0.5) * h / height, h - 1).astype(np.int64)
        guessed = np.zeros((len(y), len(x), 2), np.int32)
        if guess is not None:
            guessed[:] = np.rint(resized(guess, (h, w))[at_y[:, None], at_x])
        coarsest = number == len(pairs) - 1
        motion = guessed.copy() if coarsest else 2 * motion
        search_radius = round(COARSE_SEARCH_SHARE * max(h, w)) if coarsest else SEARCH_RADIUS
        follow_kernel(one, two, at_x, at_y, guessed, search_radius, SWEEPS * (2 if coarsest else 1), seed + 1, motion)
    exact = np.empty(motion.shape, np.float32)
    subpixel_kernel(one, two, at_x, at_y, motion, exact)
    return x, y, exact


@kernel
def describe_kernel(planes, maps, descriptors):
    """Gather the cells around each pixel, normalise them to length 512 and clip them at 255.

    `planes` (DIRECTIONS, H', W') and `maps` (H', W', DIRECTIONS) have the same values, extended by MARGIN.  The former
    have the pixels of a row adjacent, so that their lengths are summed in vectors, in the order of the descriptor.
    """
    H, W, _ = descriptors.shape
    square = np.empty(W, np.float32)
    for y in range(H):
        for x in range(W):
            square[x] = np.float32(1.0)
        for j in range(CELLS_PER_SIDE):
            for i in range(CELLS_PER_SIDE):
                for k in range(DIRECTIONS):
                    left = FIRST_CELL + CELL_SPACING * i
                    add_squares(planes[k, y + FIRST_CELL + CELL_SPACING * j, left : left + W], square)
        for x in range(W):
            factor = np.float32(512.0) / np.sqrt(square[x])
            for j in range(CELLS_PER_SIDE):
                for i in range(CELLS_PER_SIDE):
                    cell = maps[y + FIRST_CELL + CELL_SPACING * j, x + FIRST_CELL + CELL_SPACING * i]
                    n = DIRECTIONS * (CELLS_PER_SIDE * j + i)
                    write_bytes(cell, factor, descriptors[y, x, n : n + DIRECTIONS])


@inner_kernel
def add_squares(row, square):
    for x in range(square.size):
        square[x] += row[x] * row[x]


@inner_kernel
def write_bytes(cell, factor, descriptor):
    for k in range(DIRECTIONS):
        descriptor[k] = np.uint8(min(cell[k] * factor, np.float32(255.0)))


@inner_kernel
def cost_kernel(one, two):
    total = np.int32(0)
    for k in range(one.size):
        total += abs(np.int32(one[k]) - np.int32(two[k]))
    return total


@inner_kernel
def try_kernel(one, two, x, y, u, v, best):
    """Return the smaller of `best` and the cost of a motion; `best` if the motion leaves the frame."""
    H, W, _ = two.shape
    if x + u < 0 or x + u >= W or y + v < 0 or y + v >= H:
        return best
    return min(best, cost_kernel(one[y, x], two[y + v, x + u]))


@kernel
def follow_kernel(one, two, at_x, at_y, guess, search_radius, sweeps, seed, motion):
    """Improve `motion` (rows, columns, 2), int32, in place, by `sweeps` raster sweeps."""
    rows, columns, _ = motion.shape
    infinite_cost = np.int64(2**30)  # all are int64 here, so that `try_kernel` is compiled once
    cost = np.empty((rows, columns), np.int32)
    random = np.uint64(88172645 + seed)  # only the low 32 bits are used
    for r in range(rows):
        for c in range(columns):
            x, y = at_x[c], at_y[r]
            u, v = np.int64(motion[r, c, 0]), np.int64(motion[r, c, 1])
            best = try_kernel(one, two, x, y, u, v, infinite_cost)
            u, v = np.int64(guess[r, c, 0]), np.int64(guess[r, c, 1])
            trial = try_kernel(one, two, x, y, u, v, best)
            if trial < best:
                best = trial
                motion[r, c, 0], motion[r, c, 1] = u, v
            cost[r, c] = best
    for sweep in range(sweeps):
        step = 1 if sweep % 2 == 0 else -1
        for i in range(rows):
            r = i if step > 0 else rows - 1 - i
            for j in range(columns):
                c = j if step > 0 else columns - 1 - j
                x, y = at_x[c], at_y[r]
                u, v, best = np.int64(motion[r, c, 0]), np.int64(motion[r, c, 1]), np.int64(cost[r, c])
                for k in range(4):
                    nr = r if k == 0 else r - step
                    nc = c - step if k == 0 else c - 2 + k
                    if nr < 0 or nr >= rows or nc < 0 or nc >= columns:
                        continue
                    nu, nv = np.int64(motion[nr, nc, 0]), np.int64(motion[nr, nc, 1])
                    if nu == u and nv == v:
                        continue
                    trial = try_kernel(one, two, x, y, nu, nv, best)
                    if trial < best:
                        best, u, v = trial, nu, nv
                radius = search_radius
                while radius >= 1:
                    # xorshift: reproducible pseudo-random numbers
                    random ^= (random << np.uint64(13)) & np.uint64(0xFFFFFFFF)
                    random ^= random >> np.uint64(17)
                    random ^= (random << np.uint64(5)) & np.uint64(0xFFFFFFFF)
                    width = np.uint64(2 * radius + 1)
                    nu = u + np.int64(random % width) - radius
                    nv = v + np.int64((random >> np.uint64(12)) % width) - radius
                    trial = try_kernel(one, two, x, y, nu, nv, best)
                    if trial < best:
                        best, u, v = trial, nu, nv
                    radius //= 2
                motion[r, c, 0], motion[r, c, 1], cost[r, c] = u, v, best


@kernel
def subpixel_kernel(one, two, at_x, at_y, motion, exact):
    """Refine each motion to a fraction of a pixel: the minimum of two lines of opposite slope through three costs."""
    H, W, _ = two.shape
    rows, columns, _ = motion.shape
    for r in range(rows):
        for c in range(columns):
            x, y = at_x[c], at_y[r]
            for axis in range(2):
                u, v = motion[r, c, 0], motion[r, c, 1]
                du, dv = 1 - axis, axis
                exact[r, c, axis] = motion[r, c, axis]
                inside = 1 <= x + u < W - 1 and 1 <= y + v < H - 1
                if not inside:
                    continue
                here = cost_kernel(one[y, x], two[y + v, x + u])
                before = cost_kernel(one[y, x], two[y + v - dv, x + u - du])
                after = cost_kernel(one[y, x], two[y + v + dv, x + u + du])
                slope = max(before, after) - here
                if before >= here and after >= here and slope > 0:
                    exact[r, c, axis] += np.float32(0.5) * np.float32(before - after) / np.float32(slope)


def are_mutual(x, y, motion: np.ndarray, back_motion: np.ndarray, tolerance: float) -> np.ndarray:
    """Mark seeds whose motion is cancelled, up to `tolerance` pixels, by that of the seed nearest to its end."""
    rows, columns, _ = motion.shape
    spacing = x[1] - x[0] if columns > 1 else 1
    column = np.rint((x + motion[..., 0] - x[0]) / spacing).astype(np.int64)
    row = np.rint((y[:, None] + motion[..., 1] - y[0]) / spacing).astype(np.int64)
    is_inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    back = back_motion[np.clip(row, 0, rows - 1), np.clip(column, 0, columns - 1)]
    return is_inside & (_squares(motion + back) <= np.float32(tolerance * tolerance))


def are_supported(motion: np.ndarray, mutual: np.ndarray, max_deviation: float, min_support: int) -> np.ndarray:
    """Mark the seeds of `mutual` that have enough neighbours in it whose motion is similar."""
    rows, columns = mutual.shape
    support = np.zeros(mutual.shape, np.int64)
    for down, right in ((0, 1), (1, -1), (1, 0), (1, 1)):
        near = np.s_[: rows - down, max(0, -right) : columns - max(0, right)]
        far = np.s_[down:, max(0, right) : columns - max(0, -right)]
        is_similar = _squares(motion[far] - motion[near]) <= np.float32(max_deviation * max_deviation)
        is_similar &= mutual[far] & mutual[near]
        support[near] += is_similar
        support[far] += is_similar
    return mutual & (support >= min_support)


def _squares(vector):
    """Squared lengths of vectors (..., 2)."""
    return vector[..., 0] * vector[..., 0] + vector[..., 1] * vector[..., 1]
