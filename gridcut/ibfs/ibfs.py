"""Method "ibfs", the default max-flow solver on the CPU: breadth-first search forests on strips of the grid.

The forests of the strips are merged pairwise, or rebuilt from scratch where merging becomes too expensive.  Returns the
pixels that can still reach the sink once no excess can.

plain_ibfs.py is the search of one strip in plain Python; read it first.

1. The grid is split into strips of lines that fit into a core's L2 cache, or of a few slices of a volume.  In each
   strip separately, excess is pushed to deficits one and two hops away and aggregated in the middle of 8-pixel blocks
   (prepass.py); two breadth-first forests then find the maximum flow of the strip (search.py).  Strips are independent
   tasks for the threads.
   If the searches of a sample of the strips repair more than FAR cells per augmentation, flow travels far.  Then the
   flow of a coarse grid is added (coarse_start.py), and all strips are solved again.
2. The strips of each half of the grid are merged, then both halves, and so in each half (merge.py): the arcs of the
   seam are restored, and only the cells that they affect are scanned.  A merge starts as soon as both its ranges are
   complete.
3. Merging is too expensive if flow has to travel far.  If a merge repairs more than MAX_MERGE_REPAIR cells per cell of
   the forests, those of its range are discarded and the flow is kept.  The range is then searched from scratch, or
   left to the next merge if it has less than SEARCHED_STRIPS strips or the search gives up (4).
4. If the search of a strip or of the whole grid gives up (search.py), push-relabel and a search of the whole grid take
   turns, each with four times the steps of the last turn.  So the time is at most a constant factor above that of the
   quicker of both.

Arrays as in gridcut/core/grid.py and forest.py.  Memory: 10 bytes per cell and short lists, in addition to the grid,
and half as much again as both for a coarse start.

[1] Goldberg, Hed, Kaplan, Tarjan, Werneck. "Maximum flows by incremental breadth-first search." ESA 2011.
[2] Liu, Sun. "Parallel graph-cuts by adaptive bottom-up merging." CVPR 2010.
"""

import threading
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gridcut.core import push_relabel_fifo
from gridcut.core.grid import Grid, index_type
from gridcut.core.push_relabel_highest import discharge_highest
from gridcut.device import run_threads, thread_count
from gridcut.device.team import new_cells, run_team
from gridcut.ibfs.coarse_start import start_from_blocks
from gridcut.ibfs.forest import FREE, MAX_ARCS, Forest, make_work
from gridcut.ibfs.merge import GAVE_UP, PARENT, merge_ranges, merge_tasks
from gridcut.ibfs.prepass import aggregate_excess, push_one_hop, push_two_hops
from gridcut.ibfs.seams import Seams
from gridcut.ibfs.search import FOREVER, UNTIL_BOTH, UNTIL_SINK, search
from gridcut.ibfs.warm import resume

STRIP_CELLS = 1 << 16  # about 2 MB of state with four neighbours
MIN_STRIP_LINES = 8  # of slices, most arcs of a thinner strip would cross its seams
MAX_CHANGED_SHARE = 0.1  # changed cells per grid cell above which a re-solve searches from scratch
MAX_RESOLVE_REPAIR = 3.0  # repaired cells per grid cell above which a re-solve discards the forests
MORE = 4  # factor of the steps of push-relabel, and of the search, from one turn to the next
MAX_MERGE_REPAIR = 0.3  # repaired cells per cell of the forests above which a merge is too expensive
MIN_FAR_STRIPS = 16  # from which a coarse start is considered
SAMPLED_STRIPS = 8  # or the number of threads, if it is larger
FAR = 45  # repaired cells per augmentation in the sampled strips from which flow goes far
SEARCHED_STRIPS = 4  # strips of the smallest range that is searched instead


def solve(grid: Grid, *, callback=None):
    """Change the grid to one without a path from excess to a deficit; the mask of the sink side, and stats."""
    run = Run(grid.excess, grid.residual, grid.layout, callback)
    run.solve(UNTIL_SINK)
    return run.forest.label < 0, run.stats


def solve_warm(grid: Grid, memory, touched, *, callback=None):
    """`solve` again after the cells `touched` have changed; also returns the memory to pass to the next call.

    Without memory, or if more than MAX_CHANGED_SHARE of the cells changed, the forests are rebuilt on the current flow.
    """
    state = grid.excess, grid.residual, grid.layout
    if memory is None or touched is None or touched.size > MAX_CHANGED_SHARE * grid.layout.size:
        # With new forests: an old parent beyond a seam would be taken for one inside the strip.
        run = Run(*state, callback)
        run.solve(UNTIL_BOTH)
    else:
        run = Run(*state, callback, *memory)
        run.resolve(touched)
    return run.forest.label < 0, run.stats, (run.forest, run.deepest, run.work)


def finish(grid: Grid):
    """The labels of the forests, and stats, of a grid in which a search has given up."""
    run = Run(grid.excess, grid.residual, grid.layout, None)
    run.take_turns(UNTIL_SINK)
    return run.forest.label, run.stats


class Task(NamedTuple):
    """A range of lines to search; until: the forests that must be complete at the end, UNTIL_SINK or UNTIL_BOTH."""

    begin: int
    end: int
    until: int


@lru_cache(maxsize=64)
def unsigned_steps(step):
    """Steps modulo 2^64, as an array and a tuple: sums of unsigned indices wrap, so none is tested for its sign."""
    jump = np.array(step, np.int64).view(np.uint64)
    return jump, tuple(jump)


class Run:
    """One solve: the arrays that all steps share, and the steps in order.

    work         lists for `resolve`, kept from one re-solve to the next for a grid of at most STRIP_CELLS cells: new
                 memory costs as much as small changes
    aggregates   whether excesses and deficits may be aggregated in other cells (prepass.py); False: they stay in place
    """

    def __init__(self, excess, residual, layout, callback, forest=None, deepest=1, work=None, *, aggregates=True):
        if layout.arcs > MAX_ARCS:
            raise ValueError(
                f"edges has {layout.arcs // 2} pairs of opposite offsets; method 'ibfs' accepts at most "
                f"{MAX_ARCS // 2}, use method='push_relabel'"
            )
        self.excess = excess
        self.residual = residual
        self.layout = layout
        self.callback = callback
        self.aggregates = aggregates
        self.patience = 1.0 if aggregates else FOREVER  # of searches; push-relabel moves excesses
        self.gave_up = self.goes_far = False
        self.sample: set[Task] = set()
        self.sampled: list[tuple] = []
        self.index_type = index_type(layout.size)
        self.jump, self.steps = unsigned_steps(layout.step)
        self.lines = layout.shape[0]
        self.threads = thread_count()
        # Sums of 64-bit capacities could overflow.
        self.sample_size = max(SAMPLED_STRIPS, self.threads) if aggregates and excess.dtype == np.int32 else 0
        self.deepest = deepest
        self.work = work
        self.reached: dict[int, int] = {}  # cells in the forests of each strip, by its first line
        self.stats = {"augmentations": 0, "repaired": 0, "strips": 0, "searched": 0, "threads": self.threads}
        size = layout.size
        self.seams = Seams(residual, layout, [])
        self.forest = forest or Forest(
            np.zeros(size, self.index_type),
            np.full(size, FREE, np.uint8),
            np.empty(size, self.index_type),
            np.zeros(size, np.uint8),
        )

    def solve(self, until):
        """Run all steps; `until`: the forests that must be complete at the end, UNTIL_SINK or UNTIL_BOTH."""
        max_rise = max((offset[0] for offset in self.layout.offsets), default=0)
        height = max(MIN_STRIP_LINES, max_rise, STRIP_CELLS // self.layout.stride[0])
        bounds = [*range(0, max(1, self.lines - height // 2), height), self.lines]
        self.stats["strips"] = len(bounds) - 1
        self.seams = Seams(self.residual, self.layout, bounds[1:-1])
        is_split = len(bounds) > 2
        strips = [Task(*lines, UNTIL_BOTH if is_split else until) for lines in pairwise(bounds)]
        try:
            if self.sample_size and len(strips) >= MIN_FAR_STRIPS:
                self.sample = {strips[i] for i in np.linspace(0, len(strips) - 1, self.sample_size).astype(int)}
            self._solve_strips(strips)
            if self.goes_far:
                self.sample, self.goes_far = set(), False
                self._restore_seams()
                start_from_blocks(self.excess, self.residual, self.layout, self._solve_blocks, self.threads)
                self._solve_strips(strips)
            if is_split and not self.gave_up:
                self._merge_all(bounds, until)
            if self.gave_up:
                self.take_turns(until)
        finally:
            # The callback may have raised: the flow found so far is valid once all arcs are restored.
            self._restore_seams()

    def _restore_seams(self):
        for line in self.seams.cut_lines():
            self.seams.restore(line)

    def _solve_strips(self, strips):
        """Solve all strips, those of the sample first; stop if it shows that flow goes far."""
        for line in self.seams.lines:
            self.seams.cut(line)
        self._run_tasks("strips", sorted(strips, key=lambda strip: strip not in self.sample), self._solve_strip)

    def _solve_blocks(self, excess, residual, layout):
        """Solve a coarse grid."""
        run = Run(excess, residual, layout, None)
        run.sample_size = 0
        run.solve(UNTIL_SINK)
        for count in ("augmentations", "repaired"):
            self.stats[count] += run.stats[count]

    def resolve(self, touched):
        """Complete both forests, starting from those of the last solve, after changes at the cells `touched`."""
        work = self.work or make_work(self.layout.size, self.index_type)
        if self.layout.size <= STRIP_CELLS:
            self.work = work
        budget = int(MAX_RESOLVE_REPAIR * self.layout.size)
        self.deepest, augmentations, repaired, more = resume(
            touched, True, budget, self.excess, self.residual, self.steps, self.deepest, self.forest, work
        )
        self.stats["augmentations"] += augmentations
        self.stats["repaired"] += repaired + more
        if more > budget:
            self._search_all(UNTIL_BOTH)
            if self.gave_up:
                self.take_turns(UNTIL_BOTH)

    def take_turns(self, until):
        """After a search has given up: solve the whole grid by push-relabel and a search in turns, until one ends."""
        self._restore_seams()
        self.gave_up, size = True, self.layout.size
        while self.gave_up:
            state = self.excess, self.residual, self.layout.step
            push_relabel_fifo.solve(*state, discharge=discharge_highest, most=2 * self.patience * size)
            self.patience *= MORE
            self.gave_up = False
            self._search_all(until)

    def _run_tasks(self, phase, tasks, run):
        """Call run(task, work) for all tasks, in order, each on the first thread that is free.

        Each thread has its own `work`, with lists for the largest task.  The callback is called in the calling thread,
        after each task it ran and when all are done.  An error stops all threads after their current task.
        """
        cells = self.seams.cell(max(end - begin for begin, end, _ in tasks)) - self.seams.cell(0)
        threads = min(self.threads, len(tasks))
        results = [None] * len(tasks)
        lock = threading.Lock()
        abort = [0]
        pending = iter(range(len(tasks)))
        done = 0

        def worker(which):
            nonlocal done
            work = make_work(cells, self.index_type)
            while not (abort[0] or self.gave_up or self.goes_far):
                with lock:
                    i = next(pending, None)
                if i is None:
                    return
                *results[i], gave_up = run(tasks[i], work)
                self.gave_up |= gave_up
                with lock:
                    done += 1
                if which == threads - 1 and done < len(tasks):
                    self._report(phase, done, len(tasks))

        run_threads(worker, threads, abort)
        self._report(phase, done, len(tasks))
        for deepest, augmentations, repaired in filter(None, results):
            self.deepest = max(self.deepest, deepest)
            self.stats["augmentations"] += augmentations
            self.stats["repaired"] += repaired

    def _report(self, phase, done, count):
        if self.callback is not None:
            self.callback({"phase": phase, "done": done, "of": count, **self.stats})

    def _solve_strip(self, task, work):
        """Solve a strip of lines with its seams cut."""
        cells = np.uint64(self.seams.cell(task.begin)), np.uint64(self.seams.cell(task.end))
        push_one_hop(self.excess, self.residual, self.steps, *cells)
        push_two_hops(self.excess, self.residual, self.steps, self.jump, *cells)
        if self.aggregates:
            aggregate_excess(self.excess, self.residual, self.layout, task.begin, task.end - task.begin)
        push_one_hop(self.excess, self.residual, self.steps, *cells)
        found = self._search(task, work)
        # In a grid with a mask, most cells may be in neither forest.
        self.reached[task.begin] = np.count_nonzero(self.forest.label[cells[0] : cells[1]])
        if task in self.sample:
            self.sampled.append(found)
            if len(self.sampled) == len(self.sample):
                _, augmentations, repaired, _ = np.sum(self.sampled, 0)
                self.goes_far = repaired > FAR * augmentations
        return found

    def _search(self, task, work):
        """Search a range of lines from scratch."""
        return search(
            self.seams.cell(task.begin), self.seams.cell(task.end), task.until, self.patience,
            self.excess, self.residual, self.steps, self.jump, self.forest, work,
        )  # fmt: skip

    def _merge_all(self, bounds, until):
        """Merge the strips between the lines `bounds` to one range, with a search where a merge is too expensive."""
        tasks, reached = merge_tasks(bounds, self.seams, self.reached)
        waits = np.bincount(tasks[1:, PARENT], minlength=len(tasks))
        leaves = np.flatnonzero(waits == 0)
        deepest = np.full((len(tasks), 2), self.deepest)
        found = np.zeros((len(tasks), 3), np.int64)
        abort, taken = new_cells(), np.zeros(1, np.int64)
        least = min(4 * STRIP_CELLS, self.layout.size)  # of lists: enough for the first levels

        def worker(which):
            merge_ranges(
                tasks, waits, leaves, abort, taken, MAX_MERGE_REPAIR, SEARCHED_STRIPS, until, self.patience,
                deepest, reached, found, least,
                self.seams.rises, self.layout.stride[0], self.seams.saved, self.seams.is_cut,
                self.excess, self.residual, self.steps, self.forest,
            )  # fmt: skip

        run_team(worker, min(self.threads, len(leaves)), abort)
        self.deepest = int(deepest.max())
        self.stats["augmentations"] += int(found[:, 0].sum())
        self.stats["repaired"] += int(found[:, 1].sum())
        self.stats["searched"] += int(np.count_nonzero(found[:, 2]))
        self.gave_up = bool(found[0, 2] == GAVE_UP)
        self._report("merge", len(tasks), len(tasks))

    def _search_all(self, until):
        """Search the whole grid from scratch."""
        self._run_tasks("finish", [Task(0, self.lines, until)], self._search)
