"""The hierarchy of all merges of an image's regions: the costs of regions.py on the levels of matching.hierarchy.

The graph of the pixels with its ratings takes about 260 bytes per pixel, most of it on the first levels.  So images of
more than ONE_STRIP_PIXELS are divided into strips of rows.  STRIP_LEVELS levels of each strip are made by themselves,
two or more strips concurrently; about one in twelve vertices remains.  These are then connected across the seams and
coarsened as one graph.  Regions have about a dozen pixels then, so few boundaries of the results follow a seam.

    strips    rows 0 to 31 | 32 to 63 | ...      levels 1 to 6, no merges across a seam
    rest      one graph of all their regions     all further levels
"""

import cv2
import numpy as np
import scipy.sparse

import matching
from apps.common.images import as_floats
from apps.common.row_blocks import in_parallel
from gridcut.device import kernel, thread_count
from matching.general.joined_hierarchies import joined_hierarchies

SPECK_PIXELS = 32.0  # pixels; merges of regions below twice this area are cheaper
DOMINANCE = 0.8  # a merge is postponed if 0.8 of its cost exceeds the minimum of either region
ONE_STRIP_PIXELS = 1 << 20
STRIP_PIXELS = 1 << 17
MIN_STRIP_ROWS = 32
STRIP_LEVELS = 6


def grid_graph(height: int, width: int) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    """The 4-neighbour graph of the pixels, (indptr, indices, shape), with sorted rows."""
    pixel = np.arange(height * width, dtype=np.int32).reshape(height, width, 1)
    neighbours = pixel + np.array([-width, -1, 1, width], np.int32)
    is_inside = np.ones(neighbours.shape, bool)
    is_inside[0, :, 0] = is_inside[:, 0, 1] = is_inside[:, -1, 2] = is_inside[-1, :, 3] = False
    degree = np.full((height, width), 4)
    for side in (degree[0], degree[-1], degree[:, 0], degree[:, -1]):
        side -= 1
    ptr = np.zeros(pixel.size + 1, np.int64)
    np.cumsum(degree, out=ptr[1:])
    return ptr, neighbours[is_inside], (pixel.size, pixel.size)


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


class Rating:
    """Ratings of the merges of a level; keeps the colour sums (n, 3) from one level to the next."""

    def __init__(self, sums: np.ndarray, floor: float):
        self.sums = sums
        self.floor = floor

    def __call__(self, level: matching.CoarseGraph) -> np.ndarray:
        graph, size = level.graph, level.vertex_weight
        assert graph is not None, "`coarsen` passes every level with its graph"
        self.advance(level.labels, len(size))
        rate = np.empty(graph.nnz)
        share = 1.0 / size
        mean = self.sums * share[:, None]
        rate_kernel(graph.indptr, graph.indices, graph.data, share, mean, self.floor, SPECK_PIXELS, rate)
        return rate

    def advance(self, labels: np.ndarray, count: int) -> None:
        """Add up the sums of the regions of the next level, unless `count` shows that these are its sums."""
        if count < len(self.sums):
            place, sums = labels.astype(np.intp), np.empty((count, 3))  # converted once, in place of thrice by bincount
            for colour in range(3):
                sums[:, colour] = np.bincount(place, self.sums[:, colour], count)
            self.sums = sums


def strips_of(height: int, width: int) -> list[tuple[int, int]]:
    """Ranges of rows (first, last), half open: one for a small image, else strips of nearly equal numbers of rows."""
    rows = max(MIN_STRIP_ROWS, STRIP_PIXELS // width)
    count = 1 if height * width <= ONE_STRIP_PIXELS else max(1, height // rows)
    bounds = np.linspace(0, height, count + 1).astype(int).tolist()
    return list(zip(bounds[:-1], bounds[1:], strict=True))


def image_hierarchy(rgb: np.ndarray, regularity: float, threads: int | None, device: str) -> matching.Hierarchy:
    """The hierarchy of all merges of an RGB image (H, W, 3), uint8 or float32 in [0, 1], down to a single region."""
    height, width = rgb.shape[:2]
    strips = strips_of(height, width)
    floor = regularity**2
    if len(strips) == 1:
        return _strip_hierarchy(rgb, floor, None, threads, device)[0]
    threads = thread_count() if threads is None else threads
    tasks = [lambda first=first, last=last: _coarse_strip(rgb[first:last], floor, device) for first, last in strips]
    parts, sums, upper, lower = map(list, zip(*in_parallel(tasks, threads), strict=True))
    found = matching.hierarchy(
        _connected([part.levels[-1].graph for part in parts], upper, lower),
        vertex_weight=np.concatenate([part.levels[-1].vertex_weight for part in parts]),
        rating=Rating(np.concatenate(sums), floor),
        dominance=DOMINANCE,
        join=True,
        graphs=False,
        threads=threads,
        device=device,
    )
    return joined_hierarchies(parts, STRIP_LEVELS, found)


def _strip_hierarchy(rgb, floor, levels, threads, device):
    """The first levels of the hierarchy of some rows, or all if None, and the last rating."""
    height, width = rgb.shape[:2]
    lab = cv2.cvtColor(as_floats(rgb), cv2.COLOR_RGB2LAB)
    rating = Rating(lab.reshape(-1, 3).astype(np.float64), floor)
    found = matching.hierarchy(
        grid_graph(height, width),
        levels=levels,
        rating=rating,
        dominance=DOMINANCE,
        join=True,
        graphs=False,
        threads=threads,
        device=device,
    )
    return found, rating


def _coarse_strip(rgb, floor, device):
    """The first levels of a strip, the colour sums of its regions, and the regions in its first and last row."""
    found, rating = _strip_hierarchy(rgb, floor, STRIP_LEVELS, 1, device)
    rating.advance(found.levels[-1].labels, found.vertex_counts[-1])
    labels = found.labels().reshape(rgb.shape[:2])
    return found, rating.sums, labels[0].copy(), labels[-1].copy()


def _connected(graphs, upper, lower) -> scipy.sparse.csr_array:
    """The graphs of the strips as one, with the edges across the seams; the values are lengths of boundaries.

    upper, lower   the regions in the first and in the last row of each strip
    """
    start = np.concatenate([[0], np.cumsum([graph.shape[0] for graph in graphs])])
    above = np.concatenate([row + first for row, first in zip(lower[:-1], start[:-2], strict=True)])
    below = np.concatenate([row + first for row, first in zip(upper[1:], start[1:-1], strict=True)])
    ends = np.concatenate([above, below]), np.concatenate([below, above])
    seams = scipy.sparse.coo_array((np.ones(2 * len(above), np.int64), ends), shape=(start[-1], start[-1]))
    return scipy.sparse.csr_array(scipy.sparse.block_diag(graphs, format="csr")) + scipy.sparse.csr_array(seams)
