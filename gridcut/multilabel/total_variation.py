"""Exact total variation: convex data terms and absolute differences of neighbours, by one cut per bit.

    E(x) = sum_p D_p(x_p)  +  sum_pq w_pq |x_p - x_q|,      x_p in {0, ..., levels - 1},  D_p convex

For every threshold t, a separate binary energy decides whether x_p >= t.  The solutions are nested: the pixels above t
are a subset of those above any lower threshold [1].  All thresholds can therefore be found by bisection [2].  Every
pixel has an interval that contains its value, and one cut halves all intervals.  Pixels of different intervals have no
edge in the cut, because it is known which of them is higher.

    low[p] <= x_p < low[p] + size     size a power of two, halved by each cut
    rise[p]   D_p(t) - D_p(t - 1) at p's threshold t = low[p] + size / 2, plus the terms of edges to other intervals

On a CPU each cut is solved in windows, which overlap, and still exactly.  The highest minimum of a window can only rise
if pixels outside rise.  So one cut with all undecided pixels outside at 0 bounds the bits from below, and one with them
at 1 from above.  Where the two agree the bit is decided for the whole image.  Pixels near the edge of a window, where
they may differ, are decided by a neighbouring window or, later, by larger windows; the last is the whole image.  On
photographs nearly all bits are decided by the first windows.

Memory on a CPU: 9 bytes per pixel for 16-bit labels, the data term included, and one window per thread.  If only the
whole image decides, that window has 87 bytes per pixel.

[1] Hochbaum. "An efficient algorithm for image segmentation, Markov random fields and related problems." Journal of the
    ACM 48(4), 2001.
[2] Darbon, Sigelle. "Image restoration with discrete constrained total variation, part I: fast and exact optimization."
    Journal of Mathematical Imaging and Vision 26(3), 2006."""

import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from gridcut.core.grid import index_type, make_layout
from gridcut.core.problem import ends
from gridcut.device import CertificateError, DeviceName, inner_kernel, plain_kernel, resolve, run_threads, thread_count
from gridcut.ibfs.forest import FREE, Forest, make_work
from gridcut.ibfs.ibfs import unsigned_steps
from gridcut.ibfs.prepass import push_up_to_two_hops
from gridcut.ibfs.search import FOREVER, UNTIL_SINK, search
from gridcut.maximum_flow import max_flow

# Kernels of total variation by windows: load a window of one binary cut, and read what its bounds decide.
#
# The binary energy of one cut decides one bit per pixel.  A window is a rectangle of pixels, some of them decided
# already.  A neighbour outside the window that is undecided is taken as 0 for the lower bound and as 1 for the upper
# one.
#
#   state[p]      UNDECIDED, ZERO or ONE
#   known[i, j]   a copy of the window's states with a margin of one pixel, so that all steps on it see the same states
#   low[p]        the start of p's interval; pixels of different intervals have no arc: it is known which is higher
#   excess[c]     minus what bit 1 costs the pixel of cell c, arcs to decided and to outer pixels included
#   margin[c]     what excess[c] increases by when undecided neighbours outside the window change from 0 to 1
#
# Cells as in gridcut/core/grid.py; the pixel in row i, column j of a window is cell head + i * stride + j.

UNDECIDED, ZERO, ONE = np.uint8(0), np.uint8(1), np.uint8(2)


@plain_kernel
def undecided_box(state, top, bottom, left, right):
    """The bounding box (top, bottom, left, right) of the undecided pixels of a window; empty if there are none."""
    first, last, begin, end = bottom, top, right, left
    for y in range(top, bottom):
        for x in range(left, right):
            if state[y, x] == UNDECIDED:
                first = min(first, y)
                last = y + 1
                begin = min(begin, x)
                end = max(end, x + 1)
    return first, last, begin, end


@inner_kernel
def rise_of(t, centre, is_weak, is_quadratic, unit):
    """The data term at level t minus that at t - 1; see `DataTerm`."""
    if is_weak:
        return np.int64(1) if t > centre else np.int64(-1)
    if is_quadratic:
        return unit * (2 * t - 1) - centre
    return unit if t > centre else -unit


# args: an entry call, to which Python passes arrays one by one in half the time that a bundle takes
@plain_kernel
def load_window(
    top, left, height, width, half, centre, weak, is_quadratic, unit, weights, offsets, low, known,
    stride, head, size, excess, residual, margin, label, parent,
):  # fmt: skip
    """Load the cells of a window for the lower bound; returns whether some margin is not 0.

    A pixel whose own cost exceeds what all its undecided neighbours can change is decided at once, in `known`; the arcs
    that earlier pixels have to it become part of their excess.
    """
    arcs = len(offsets)
    rows, columns = low.shape
    unit = np.int64(unit)
    excess[:size] = 0
    residual[: size * arcs] = 0
    label[:size] = 0
    parent[:size] = FREE
    is_open = False
    for i in range(height):
        y = top + i
        for j in range(width):
            if known[i + 1, j + 1] != UNDECIDED:
                continue
            x = left + j
            cell = head + i * stride + j
            floor = low[y, x]
            is_weak = weak is not None and weak[y, x]
            rise = rise_of(np.int64(floor) + half, np.int64(centre[y, x]), is_weak, is_quadratic, unit)
            inside = np.int64(0)
            outside = np.int64(0)
            for k in range(arcs):
                dy, dx = offsets[k]
                v, u = y + dy, x + dx
                if v < 0 or v >= rows or u < 0 or u >= columns:
                    continue
                w = np.int64(weights[k])
                other = low[v, u]
                if other != floor:
                    rise += w if other < floor else -w
                    continue
                there = known[i + dy + 1, j + dx + 1]
                if there != UNDECIDED:
                    rise += w if there == ZERO else -w
                elif 0 <= i + dy < height and 0 <= j + dx < width:
                    residual[cell * arcs + k] = w
                    inside += w
                else:
                    outside += w
            if rise + inside + outside <= 0 or rise - inside - outside > 0:
                is_one = rise <= 0
                known[i + 1, j + 1] = ONE if is_one else ZERO
                for k in range(arcs):
                    dy, dx = offsets[k]
                    residual[cell * arcs + k] = 0
                    if not (0 <= i + dy < height and 0 <= j + dx < width):
                        continue
                    neighbour = cell + dy * stride + dx
                    w = residual[neighbour * arcs + (k ^ 1)]
                    residual[neighbour * arcs + (k ^ 1)] = 0
                    excess[neighbour] += w if is_one else -w
            else:
                excess[cell] = -rise - outside
                margin[cell] = 2 * outside
                is_open |= outside > 0
    return is_open


@plain_kernel
def raise_margin(height, width, known, stride, head, excess, margin, label):
    """From the lower to the upper bound: a bit that is 1 in both needs no flow; the others receive their margin."""
    for i in range(height):
        for j in range(width):
            if known[i + 1, j + 1] == UNDECIDED:
                cell = head + i * stride + j
                if label[cell] >= 0:
                    excess[cell] = 0
                    known[i + 1, j + 1] = ONE
                else:
                    excess[cell] += margin[cell]


@plain_kernel
def store_bits(top, left, height, width, is_open, known, stride, head, label, state):
    """Write the decided bits of a window to the image; if it is open, 1 of the upper bound alone decides nothing."""
    for i in range(height):
        for j in range(width):
            bit = known[i + 1, j + 1]
            if bit == UNDECIDED:
                if label[head + i * stride + j] < 0:
                    bit = ZERO
                elif not is_open:
                    bit = ONE
            state[top + i, left + j] = bit


@plain_kernel
def halve_intervals(half, state, low):
    """Move each interval to the half that its bit selects, and make all bits undecided."""
    for y in range(low.shape[0]):
        for x in range(low.shape[1]):
            if state[y, x] == ONE:
                low[y, x] += half
            state[y, x] = UNDECIDED


WINDOW_SIDE = 256  # pixels: 6 MB of state
WINDOW_OVERLAP = 16  # pixels; both are doubled from pass to pass


class DataTerm(NamedTuple):
    """The data term D_p of every pixel.

    centre      (H, W) int16 or int32: the seen level; for quadratic data 2 * unit times it, and it may be fractional
    is_quadratic    True: D = unit * (x - level)^2, False: unit * |x - level|
    unit        weight of all pixels that are not weak
    weak        (H, W) bool or None: pixels of which little is known; D = |x - centre|, and `centre` is a level
    """

    centre: np.ndarray
    is_quadratic: bool
    unit: int
    weak: np.ndarray | None = None

    def rise_at(self, t: np.ndarray) -> np.ndarray:
        """D_p(t_p) - D_p(t_p - 1), int32, for an int32 array t of levels."""
        if self.is_quadratic:
            rise = self.unit * (2 * t - 1) - self.centre
        else:
            rise = np.where(t > self.centre, np.int32(self.unit), np.int32(-self.unit))
        if self.weak is not None:
            rise = np.where(self.weak, np.where(t > self.centre, np.int32(1), np.int32(-1)), rise)
        return rise.astype(np.int32, copy=False)


def total_variation(
    term: DataTerm,
    levels: int,
    weights: Mapping,
    device: DeviceName = "auto",
    callback: Callable[[dict], None] | None = None,
) -> np.ndarray:
    """Minimise E by bisection; returns the labels (H, W), int16 or int32, the highest ones on ties.

    Parameters
    ----------
    term : DataTerm
        The data term; its array has the image's shape.
    levels : int
        Number of values of a pixel; a power of two.
    weights : mapping from offset to int
        The w_pq, one offset of each opposite pair, of at most one pixel along each axis.
    device : {"auto", "cpu", "cuda"}
        Where the cuts are solved; on a GPU, the whole image at once.
    callback : callable, optional
        Called with {"phase": "cuts", "done": cuts, "of": number of cuts}, on a CPU after each window.
    """
    cuts = levels.bit_length() - 1

    def report(done):
        if callback is not None:
            callback({"phase": "cuts", "done": done, "of": cuts})

    low = np.zeros(term.centre.shape, np.int16 if levels <= 2**15 else np.int32)
    on_gpu = resolve(device) == "cuda"
    run = None if on_gpu else _Windows(term, weights, low)
    for i in range(cuts):
        half = levels >> (i + 1)
        if run is None:
            low += low.dtype.type(half) * _whole_cut(term, weights, low, half, "cuda").labels
            report(i + 1)
        else:
            run.solve(half, lambda share, i=i: report(i + share))
    return low


def check_total_variation(term: DataTerm, weights: Mapping, labels: np.ndarray, device: DeviceName = "cpu") -> None:
    """Certify that `labels` are the highest minimum of E; CertificateError if they are not.

    E is convex: labels are a minimum if and only if no set of pixels gains by rising, or by falling, by one level.  Two
    cuts of the whole image, with their own certificates, decide both; the windows play no part in it.
    """
    rising = _whole_cut(term, weights, labels, 1, device)
    rising.check()
    falling = _whole_cut(term, weights, labels - labels.dtype.type(1), 1, device)
    falling.check()
    if rising.labels.any() or not falling.labels.all():
        count = int(rising.labels.sum()) + int((~falling.labels).sum())
        raise CertificateError(f"the labels are not the highest minimum: {count} pixels could change by one level")


def _whole_cut(term, weights, low, half, device):
    """The cut that decides which pixels are at least low + half, over the whole image."""
    low = low.astype(np.int32, copy=False)
    rise = term.rise_at(low + np.int32(half))
    edges = {}
    for offset, weight in weights.items():
        p, q = ends(low.shape, (offset,))
        # Raising the lower of two values reduces their difference, raising the higher increases it.
        pull = np.int32(weight) * np.sign(low[q] - low[p], dtype=np.int32)
        rise[p] -= pull
        rise[q] += pull
        edges[offset] = np.zeros(low.shape, np.int32)
        edges[offset][p] = np.where(low[p] == low[q], np.int32(weight), 0)
    return max_flow(np.maximum(-rise, 0), np.maximum(rise, 0), edges, device=device)


class _Windows:
    """The cuts of an image, by windows; `state` has a margin of one pixel."""

    def __init__(self, term, weights, low):
        self.term = term
        self.low = low
        height, width = low.shape
        self.state = np.zeros((height + 2, width + 2), np.uint8)
        self.offsets = make_layout((3, 3), weights).offsets
        opposite = {tuple(-i for i in offset): weight for offset, weight in weights.items()}
        found = {**opposite, **weights}
        self.weights = np.array([found.get(offset, 0) for offset in self.offsets], np.int32)
        self.spaces = [None] * thread_count()

    def solve(self, half, report):
        """One cut: halve the interval of every pixel."""
        side, overlap = WINDOW_SIDE, WINDOW_OVERLAP
        windows = self._windows(side, overlap)
        while windows:
            self._solve_windows(windows, half, report)
            if len(windows) == 1:
                break
            side, overlap = 2 * side, 2 * overlap
            report = _ignore
            windows = [w for w in self._windows(side, overlap) if self._box(w)[0] < w[1]]
            if len(windows) == 1:
                windows = [(0, self.low.shape[0], 0, self.low.shape[1])]
        halve_intervals(half, self.state[1:-1, 1:-1], self.low)

    def _windows(self, side, overlap):
        """Windows (top, bottom, left, right) of equal sizes, at most about `side`, in raster order."""
        spans = []
        for length in self.low.shape:
            count = max(1, -(-(length - overlap) // (side - overlap)))
            starts = [i * (length - overlap) // count for i in range(count)]
            ends = [*(start + overlap for start in starts[1:]), length]
            spans.append(list(zip(starts, ends, strict=True)))
        return [(*rows, *columns) for rows in spans[0] for columns in spans[1]]

    def _box(self, window):
        return undecided_box(self.state[1:-1, 1:-1], *window)

    def _solve_windows(self, windows, half, report):
        lock = threading.Lock()
        pending = iter(windows)
        threads = min(len(self.spaces), len(windows))
        abort = [0]
        done = 0

        def worker(which):
            nonlocal done
            while not abort[0]:
                with lock:
                    window = next(pending, None)
                if window is None:
                    return
                self._solve_window(which, window, half)
                with lock:
                    done += 1
                if which == threads - 1:  # the calling thread
                    report(done / len(windows))

        run_threads(worker, threads, abort)
        report(1)

    def _solve_window(self, which, window, half):
        """Fix the pixels of a window whose lower and upper bound agree; threads write equal bits to a pixel."""
        top, bottom, left, right = self._box(window)
        height, width = bottom - top, right - left
        if height <= 0:
            return
        layout = make_layout((max(height, 2), max(width, 2)), self.offsets)  # at 1, offsets would be left out
        space = self.spaces[which]
        if space is None or space.excess.size < layout.size:
            self.spaces[which] = space = None  # freed before the larger one is allocated
            self.spaces[which] = space = _Space.of(layout)
        excess, residual, margin, forest, work = space
        known = self.state[top : bottom + 2, left : right + 2].copy()
        term = self.term
        inside = layout.stride[0], layout.head
        is_open = load_window(
            top, left, height, width, half, term.centre, term.weak, term.is_quadratic, term.unit, self.weights,
            self.offsets, self.low, known, *inside, layout.size, excess, residual, margin, forest.label, forest.parent,
        )  # fmt: skip
        jump, steps = unsigned_steps(layout.step)
        first, last = layout.head, layout.head + height * layout.stride[0]
        cells = np.uint64(first), np.uint64(last)
        push_up_to_two_hops(excess, residual, steps, jump, *cells)
        search(first, last, UNTIL_SINK, FOREVER, excess, residual, steps, jump, forest, work)
        if is_open:
            raise_margin(height, width, known, *inside, excess, margin, forest.label)
            push_up_to_two_hops(excess, residual, steps, jump, *cells)
            search(first, last, UNTIL_SINK, FOREVER, excess, residual, steps, jump, forest, work)
        store_bits(top, left, height, width, is_open, known, *inside, forest.label, self.state[1:-1, 1:-1])


class _Space(NamedTuple):
    """The arrays of one thread, as long as its largest window so far."""

    excess: np.ndarray
    residual: np.ndarray
    margin: np.ndarray
    forest: Forest
    work: NamedTuple

    @classmethod
    def of(cls, layout):
        size, index = layout.size, index_type(layout.size)
        forest = Forest(
            np.empty(size, index), np.empty(size, np.uint8), np.empty(size, index), np.zeros(size, np.uint8)
        )
        arrays = np.empty(size, np.int32), np.empty(size * layout.arcs, np.int32), np.empty(size, np.int32)
        return cls(*arrays, forest, make_work(size, index))


def _ignore(share):
    """No report: the share of the pixels that later windows decide is small."""
