"""Where a minimum cut is unsure: what other labels would cost, from nested cuts, each of which is certified.

Let x be the minimum cut of an energy E of two labels, and E(A) = E(x changed at the pixels A) - E(x) >= 0.  The margin
of a pixel p is what it costs to change its label [1],

    m(p)  =  min { E(A) : p in A }.

It is enough to look at sets A of one label of x, because E is submodular: with the other pixels of A unchanged, the
energy is not higher.  Let S be a minimiser of E(A) - c |A| among the sets of this label, for a constant c: a minimum
cut for which each pixel of the other label costs c less.  Then

    m(p) >= c                     for all p that are not in S,
    m(p) <= E(C)                  for all p in a connected part C of S.

Proof: by submodularity and as S is a minimiser, E(A) - c |A| >= E(A ∩ S) - c |A ∩ S| >= -c |A ∩ S| for all A, so
E(A) >= c |A - S| >= c if A contains p.  The energies of parts that do not touch add up; each is one of the A.

The sets of ascending c are nested, so one solver finds them, each from the flow of the one before.  Of the pixels asked
for, the margin itself is found by one more cut in which the label of x is forbidden there.

The pixels of S change together, so S says where the energy would give away most pixels for little.  A click in the
middle of a part of S decides all of it.

[1] Kohli, Torr. "Measuring uncertainty in graph cut solutions." CVIU 112(1), 2008.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

import gridcut
from apps.segmentation.fit import find_labels
from apps.segmentation.grid_cut import pairs
from apps.segmentation.hints import Hints
from apps.segmentation.image_sizes import at_centres, centres
from apps.segmentation.model import ImageView
from apps.segmentation.terms import FORBIDDEN, UNIT
from gridcut.device.result import GridResult

STEPS = (0.125, 0.25, 0.5)  # nats: the constants c
MIN_PART = 0.002  # of the pixels of the object; smaller parts are not proposed
SCALE = 0.25  # nats per pixel by which a part is e times less likely to be wrong


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Margins(GridResult):
    """What it would cost to change the label of a pixel.

    Attributes
    ----------
    least : ndarray of float32, the shape of the labels
        In nats: the margin of a pixel is at least this, which is STEPS[-1] where no cut changes it.
    most : ndarray of float32, the shape of the labels
        In nats: the margin is at most this; infinite where no cut changes the label.
    place : tuple of int, or None
        Index of the pixel to mark next, in the middle of the part of which most would change for little; None if no cut
        changes a part of the object, or one that touches it.
    margin : float
        Of this pixel, exactly; infinite without one.
    """

    least: np.ndarray
    most: np.ndarray
    place: tuple[int, ...] | None = None
    margin: float = math.inf

    def _figure(self):
        return self.least

    def on(self, shape: tuple[int, ...], part: tuple[slice, ...] | None = None) -> "Margins":
        """The same of a larger grid, of which this one is a part, perhaps reduced; all else does not change."""
        part = tuple(slice(0, n) for n in shape) if part is None else part
        sizes = tuple(side.stop - side.start for side in part)
        least, most = np.full(shape, STEPS[-1], np.float32), np.full(shape, np.inf, np.float32)
        least[part], most[part] = at_centres(self.least, sizes), at_centres(self.most, sizes)
        if self.place is None:
            return Margins(least, most)
        places = zip(self.place, self.least.shape, sizes, part, strict=True)
        return Margins(least, most, tuple(int(centres(m, n)[k]) + side.start for k, m, n, side in places), self.margin)


class Unsure:
    """Margins of the minimum cut of a grid.

    source, sink   costs of the background and of the object, int32
    edges          weights by offset
    """

    def __init__(self, source: np.ndarray, sink: np.ndarray, edges: dict):
        self._terms, self._edges = (source, sink), edges
        self._solver = gridcut.Solver(source, sink, edges, device="cpu")
        cut = self._solved(0)
        self.labels, self._value = cut.labels, int(cut.value)

    def _solved(self, grown: int) -> gridcut.Cut:
        """The cut, certified, if each pixel of the object costs `grown` less."""
        source, sink = self._terms
        self._solver.update(source=source + max(grown, 0), sink=sink + max(-grown, 0))
        cut = self._solver.solve()
        cut.check()
        return cut

    def margins(self, shown: np.ndarray, at: np.ndarray | None = None) -> Margins:
        """Margins of all pixels, and where to mark next.

        shown   the object that is shown, bool; only parts that touch it, or are parts of it, are proposed
        at      pixels whose margin is computed exactly, bool, or None
        """
        least = np.full(self.labels.shape, STEPS[-1], np.float32)
        most = np.full(self.labels.shape, np.inf, np.float32)
        near = ndimage.binary_dilation(shown, np.ones((3,) * shown.ndim))
        least_size = MIN_PART * np.count_nonzero(shown)
        best, region = 0.0, None
        for sign in (1, -1):
            before, below = np.zeros(self.labels.shape, bool), 0.0
            for step in STEPS:
                changed = self._solved(sign * round(step * UNIT)).labels != self.labels
                parts, energies = self._parts(changed)
                least[changed & ~before] = below
                most[changed] = np.minimum(most[changed], energies[parts[changed]])
                before, below = changed, step
                sizes = np.bincount(parts.ravel())
                sizes[0] = 0
                sizes[sizes < least_size] = 0
                sizes[np.bincount(parts[near if sign > 0 else shown], minlength=len(sizes)) == 0] = 0
                worth = sizes * np.exp(-energies / np.maximum(sizes, 1) / SCALE)
                if len(worth) and worth.max() > best:
                    best, region = worth.max(), parts == worth.argmax()
        place = None if region is None else middle_of(region)
        asked = [] if at is None else list(zip(*np.nonzero(at), strict=True))
        margin = math.inf
        self._solver.update(source=self._terms[0], sink=self._terms[1])
        for index in [*asked, *(() if place is None else (place,))]:
            margin = least[index] = most[index] = self._margin(index)
        return Margins(least, most, place, math.inf if place is None else margin)

    def _margin(self, index: tuple) -> float:
        """The margin of a pixel in nats, by a cut in which its label is forbidden; infinite if a mark fixes it."""
        where = tuple(np.array([one]) for one in index)
        source, sink = (one[where] for one in self._terms)
        added = [np.int32(FORBIDDEN if side == int(self.labels[index]) else 0) for side in (0, 1)]
        self._solver.update(source=source + added[0], sink=sink + added[1], where=where)
        cut = self._solver.solve()
        cut.check()
        self._solver.update(source=source, sink=sink, where=where)
        lost = int(cut.value) - self._value
        return math.inf if lost >= FORBIDDEN // 2 else lost / UNIT

    def _parts(self, changed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The connected parts of pixels of one label, numbered from 1, and by number what changing each costs in nats.

        Parts touch where an edge could join them, so their energies add up.
        """
        parts, count = ndimage.label(changed, np.ones((3,) * changed.ndim))
        source, sink = self._terms
        where = np.nonzero(changed)
        sign = 1 - 2 * self.labels[where].astype(np.int64)
        costs = np.bincount(parts[where], sign * (sink[where].astype(np.int64) - source[where]), count + 1)
        for offset, weight in self._edges.items():
            here, there = pairs(parts, offset)
            rim = np.nonzero((here > 0) != (there > 0))
            x, y = (one[rim] for one in pairs(self.labels, offset))
            lost = np.where(x != y, -1.0, 1.0) * pairs(weight, offset)[0][rim]
            costs += np.bincount(here[rim] + there[rim], lost, count + 1)
        return parts, (costs / UNIT).astype(np.float32)


def middle_of(region: np.ndarray) -> tuple[int, ...]:
    """The pixel of a region, bool, that is farthest from other pixels and from the sides of the grid."""
    (part,) = ndimage.find_objects(region.astype(np.uint8))
    depth = ndimage.distance_transform_edt(np.pad(region[part], 1))
    index = np.unravel_index(depth.argmax(), depth.shape)
    return tuple(int(one) - 1 + side.start for one, side in zip(index, part, strict=True))


def margins_of(rgb: np.ndarray, hints: Hints, shown: np.ndarray, at: np.ndarray | None = None) -> Margins:
    """Margins of an object in an image, which is found again from hints; see `Segmentation.margins`."""
    view = ImageView(lambda: rgb, hints.marks.shape)
    found = find_labels(view, hints, "cpu")
    (background, foreground), edges = found.problem()
    part = found.where or (slice(None), slice(None))
    asked = None if at is None else at_centres(at[part], background.shape)
    shown = at_centres(shown[part], background.shape)
    return Unsure(background, foreground, edges).margins(shown, asked).on(hints.marks.shape, found.where)
