"""Swaps in cycles until none of them lowers the energy; a swap visits only what has changed since it was made last.

The pixels with one of two labels form connected components, and the best swap of each component is independent of the
others.  If neither a component nor its neighbours have changed since these labels were last swapped, nothing in it can
gain.  A swap therefore lists only the components that contain a change, and its time is proportional to their size.
A swap of zero gain is not made, even if its cut exchanges labels.  The pixels concerned are visited again the next
time, because together with a gain elsewhere they are exchanged.

A log of the changes, in chronological order: each changed pixel and its neighbours.  Every entry belongs to the chain
of the label that its pixel has at that time.  Each pair has a chain, too: the pixels of a swap that was not made.
  cell[e], before[e]   the pixel of entry e, and the previous entry of its chain, -1: none
  last[c]              the last entry of chain c (labels first, then pairs), -1: none
  entry[p]             the last entry of a pixel in the chain of a label, -1: none
  touched[label]       end of the log after the last change at or next to a pixel of a label
  known[j]             end of the log when pair j was swapped last, -1: never
  seen[j]              number of changes when pair j was visited last

Swaps of few pixels are cut from their deficits (`route_to_deficits`), many swaps per call; the others by the default
method.

The moves are those of Boykov, Veksler, Zabih. "Fast approximate energy minimization via graph cuts." PAMI 23(11), 2001.

Time per cycle: the first cycle visits the grid once per pair of labels.  Later cycles visit the entries of each label
once per other label.  Both add the cuts.  Memory: two numbers per change, in addition to that of the moves."""

from typing import NamedTuple

import numpy as np

from gridcut.device import inner_kernel, kernel
from gridcut.ibfs.ibfs import Run
from gridcut.ibfs.search import UNTIL_SINK
from gridcut.multilabel.descent import Descent
from gridcut.multilabel.move_rules import has_choice
from gridcut.multilabel.moves import apply, energy_change, list_all, read_cut, route_to_deficits
from gridcut.multilabel.validation import LabelProblem

LOCAL_SWAP_DIVISOR = 3  # a swap of fewer than 1 / 3 of the cells is solved from its deficits
MADE, LARGE, FULL, PASSED = range(4)  # outcomes of run_swaps


class Log(NamedTuple):
    """The log of changes; see above."""

    cell: np.ndarray
    before: np.ndarray
    last: np.ndarray
    entry: np.ndarray
    touched: np.ndarray
    known: np.ndarray
    seen: np.ndarray


@inner_kernel
def append_entry(p, chain, log, end):
    """Append an entry for a cell; returns the end of the log."""
    log.cell[end] = p
    log.before[end] = log.last[chain]
    log.last[chain] = end
    return end + 1


@kernel
def log_changes(changed, step, field, log, end):
    """Log the first `changed` listed cells and their neighbours; returns the end of the log."""
    label, listed = field.label, field.listed
    start = end
    for i in range(changed):
        p = np.uint64(listed[i])
        for k in range(len(step) + 1):
            q = p + step[k] if k < len(step) else p
            if field.pixel[q] >= 0 and log.entry[q] < start:
                log.entry[q] = end
                end = append_entry(q, label[q], log, end)
                log.touched[label[q]] = end
    return end


@inner_kernel
def list_sets(pair, first, second, step, field, log):
    """List the components of a swap that contain a new entry; returns their number of pixels."""
    weight, label, is_listed, listed = field.weight, field.label, field.is_listed, field.listed
    arcs = np.uint64(len(step))
    own = len(log.touched) + pair
    count = 0
    for chain in (first, second, own):
        e = log.last[chain]
        since = 0 if chain == own else log.known[pair]
        while e >= since:
            p = np.uint64(log.cell[e])
            if is_listed[p] == 0 and has_choice(label[p], first, second):
                is_listed[p] = 1
                listed[count] = p
                count += 1
            e = log.before[e]
    i = 0
    while i < count:
        p = np.uint64(listed[i])
        for k in range(len(step)):
            q = p + step[k]
            if weight[p * arcs + np.uint64(k)] > 0 and is_listed[q] == 0 and has_choice(label[q], first, second):
                is_listed[q] = 1
                listed[count] = q
                count += 1
        i += 1
    return count


@kernel
def load_swap(count, first, second, step, field):
    """`load` for swaps, where an edge of two listed pixels has equal capacities and does not affect the excess."""
    unary, cost, weight, pixel = field.unary, field.cost, field.weight, field.pixel
    label, listed, excess, residual = field.label, field.listed, field.excess, field.residual
    arcs = np.uint64(len(step))
    cut_cost = np.int64(cost[first, second])
    for i in range(count):
        p = np.uint64(listed[i])
        held = np.int64(unary[second, pixel[p]]) - unary[first, pixel[p]]
        for k in range(len(step)):
            at = p * arcs + np.uint64(k)
            w = np.int64(weight[at])
            theirs = label[p + step[k]]
            if has_choice(theirs, first, second):
                residual[at] = w * cut_cost
            else:
                held += w * (np.int64(cost[second, theirs]) - cost[first, theirs])
        excess[p] = held


@inner_kernel
def push_from_neighbours(count, step, field):
    """Route excess of direct neighbours to the deficits of the listed cells; returns how many deficits remain."""
    listed, excess, residual = field.listed, field.excess, field.residual
    arcs = np.uint64(len(step))
    deficits = 0
    for i in range(count):
        p = np.uint64(listed[i])
        need = -np.int64(excess[p])
        if need <= 0:
            continue
        for k in range(len(step)):
            q = p + step[k]
            back = q * arcs + np.uint64(k ^ 1)
            amount = min(need, np.int64(excess[q]), np.int64(residual[back]))
            if amount > 0:
                excess[q] -= amount
                residual[back] -= amount
                residual[p * arcs + np.uint64(k)] += amount
                need -= amount
        excess[p] = -need
        deficits += need > 0
    return deficits


@kernel
def finish_swap(pair, count, first, second, step, flow, field, forest, log, changes, end):
    """Read the cut, and make the swap if it lowers the energy.

    Returns the number of changed pixels, the change of the energy, and the end of the log.
    """
    changed = read_cut(count, first, second, step, flow, field, forest)
    delta = energy_change(changed, first, second, step, field) if changed > 0 else np.int64(0)
    apply(changed, delta < 0, first, second, field)
    own = len(log.touched) + pair
    log.last[own] = -1
    if delta < 0:
        end = log_changes(changed, step, field, log, end)
        log.touched[first] = end
        log.touched[second] = end
        changes += 1
    else:
        for i in range(changed):
            end = append_entry(field.listed[i], own, log, end)
        changed = 0
    log.known[pair] = end
    log.seen[pair] = changes
    return changed, delta, end


# args: an entry call, to which Python passes arrays one by one in half the time that a bundle takes
@kernel
def run_swaps(pairs, i, local_limit, step, head, flow, field, forest, work, log, changes, end, made):
    """Make the swaps pairs[i:] and mark them in `made`, until one changes labels or has `local_limit` pixels or more.

    Returns the outcome, the index of the last pair, a count, the change of the energy, and the end of the log.

    outcome   MADE: labels changed;  LARGE: listed but not solved;  FULL: the log is too short;  PASSED: all swaps done
    count     MADE: number of changed pixels, which come first in `listed`;  LARGE: number of listed pixels
    """
    none = np.int64(0)
    while i < len(pairs):
        first, second = pairs[i, 0], pairs[i, 1]
        known = log.known[i]
        if known >= 0 and max(log.touched[first], log.touched[second]) <= known:
            log.seen[i] = changes
            i += 1
            continue
        if end + local_limit * (len(step) + 1) > len(log.cell):
            return FULL, i, none, none, end
        if known < 0 or end - known > len(field.label):
            log.last[len(log.touched) + i] = -1
            count = list_all(first, second, head, field.label.size - head, field)
        else:
            count = list_sets(i, first, second, step, field, log)
        made[i] = True
        if count >= local_limit:
            return LARGE, i, count, none, end
        load_swap(count, first, second, step, field)
        if push_from_neighbours(count, step, field) > 0:
            count = route_to_deficits(count, False, first, second, step, flow, field, forest, work)
        changed, delta, end = finish_swap(i, count, first, second, step, flow, field, forest, log, changes, end)
        if changed > 0:
            return MADE, i, changed, delta, end
        i += 1
    return PASSED, i, none, none, end


class SwapDescent(Descent):
    """Descent by swaps; `moves` must be the same pairs in all calls."""

    def __init__(self, problem: LabelProblem, start: np.ndarray):
        super().__init__(problem, start)
        self._log, self._end = None, 0

    def _start_log(self, pairs: int) -> None:
        size, labels = self.state.layout.size, self.problem.count
        self._local_limit = max(1, size // LOCAL_SWAP_DIVISOR)
        room = 2 * self._local_limit * (self.state.layout.arcs + 1)
        self._log = Log(
            np.empty(room, self.state.index_type),
            np.empty(room, np.int64),
            np.full(labels + pairs, -1, np.int64),
            np.full(size, -1, np.int64),
            np.zeros(labels, np.int64),
            np.full(pairs, -1, np.int64),
            np.full(pairs, -1, np.int64),
        )

    def _jump(self, labels: np.ndarray) -> None:
        cells = self.state.cells(labels != self.labels)
        super()._jump(labels)
        if cells.size:
            field, steps = self.state.field, self.state.steps
            field.listed[: cells.size] = cells
            self._reserve(cells.size * (len(steps) + 1))
            self._end = log_changes(cells.size, steps, field, self._log, self._end)

    def _reserve(self, room: int) -> None:
        """Reserve `room` more entries in the log."""
        log = self._log
        if self._end + room > len(log.cell):
            size = 2 * (self._end + room)
            self._log = log._replace(cell=np.resize(log.cell, size), before=np.resize(log.before, size))

    def is_converged(self, moves) -> bool:
        empty = self.problem.unary.size == 0 or not moves
        return empty or (self._log is not None and bool((self._log.seen == len(self._changes)).all()))

    def run(self, moves, max_cycles, callback) -> None:
        pairs = np.array(moves, np.int64).reshape(-1, 2)
        if self._log is None:
            self._start_log(len(pairs))
        last = None if max_cycles is None else self.cycles + max_cycles
        while not self.is_converged(moves) and self.cycles != last:
            self.cycles += 1
            at = 0
            while at < len(pairs):
                at = self._run_swaps(pairs, at, callback)

    def _run_swaps(self, pairs, at: int, callback) -> int:
        """Make swaps from pairs[at] on until labels change; returns the index of the pair to continue with."""
        state, made, changes = self.state, np.zeros(len(pairs), bool), len(self._changes)
        steps, flow, field, forest = state.steps, state.no_flow, state.field, state.forest
        outcome, i, count, delta, self._end = run_swaps(
            pairs, at, self._local_limit, steps, state.layout.head, flow, field, forest, state.work, self._log, changes,
            self._end, made,
        )  # fmt: skip
        if outcome == FULL:
            self._reserve(self._local_limit * (state.layout.arcs + 1))
        if outcome == LARGE:
            first, second = pairs[i]
            self._reserve(count * (state.layout.arcs + 1))
            load_swap(count, first, second, steps, field)
            Run(field.excess, field.residual, state.layout, None, forest).solve(UNTIL_SINK)
            count, delta, self._end = finish_swap(
                i, count, first, second, steps, flow, field, forest, self._log, changes, self._end
            )
        for j in np.flatnonzero(made[at:]) + at:
            cells = field.listed[: count if j == i and delta < 0 else 0].copy()
            self._finish_move(*pairs[j].tolist(), cells, int(delta), callback)
        return i if outcome == FULL else i + 1
