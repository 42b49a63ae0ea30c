"""Method "ibfs", the default max-flow solver on the CPU: breadth-first search forests on strips of the grid.

The forests of the strips are merged pairwise, or rebuilt from scratch where merging becomes too expensive.  Returns the
pixels that can still reach the sink once no excess can.

plain_ibfs.py is the search of one strip in plain Python; read it first.

1. The grid is split into strips of lines that fit into a core's L2 cache, or of a few slices of a volume.  In each
   strip separately, excess is pushed to deficits one and two hops away and aggregated in the middle of 8-pixel blocks
   (prepass.py); two breadth-first forests then find the maximum flow of the strip (search.py).  Strips are independent
   tasks for the threads.
   If the searches of a sample of the strips repair more than FAR cells per augmentation, flow travels far.  Then the
   flow of a coarse grid is added (prepass.py), and all strips are solved again.
2. The strips of each half of the grid are merged, then both halves, and so in each half (strip_tasks.py): the arcs of
   the seam are restored, and only the cells that they affect are scanned.  A merge starts as soon as both its ranges
   are complete.
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

from functools import lru_cache, partial

import numpy as np

from gridcut.core.grid import Grid, index_type
from gridcut.device import run_threads, thread_count
from gridcut.device.threads import run_team
from gridcut.ibfs.forest import MAX_ARCS, Forest, make_work
from gridcut.ibfs.prepass import start_from_blocks
from gridcut.ibfs.search import UNTIL_BOTH, UNTIL_SINK, search
from gridcut.ibfs.strip_tasks import (
    AUGMENTATIONS,
    ENDED,
    FAR_FLOW,
    GAVE_UP,
    REPAIRED,
    SEARCHED,
    TAKEN,
    Seams,
    make_tasks,
    resume,
    run_tasks,
    solve_strip,
)

STRIP_CELLS = 1 << 16  # about 2 MB of state with four neighbours
FEW_STRIPS = 8  # with two or more, but less than these, several threads get strips of half the size
MIN_STRIP_LINES = 8  # of slices, most arcs of a thinner strip would cross its seams
MAX_CHANGED_SHARE = 0.1  # changed cells per grid cell above which a re-solve searches from scratch
MAX_RESOLVE_REPAIR = 3.0  # repaired cells per grid cell above which a re-solve discards the forests
MORE = 4  # factor of the steps of push-relabel, and of the search, from one turn to the next
MAX_MERGE_REPAIR = 0.3  # repaired cells per cell of the forests above which a merge is too expensive
MIN_FAR_STRIPS = 16  # from which a coarse start is considered
SAMPLED_STRIPS = 8  # or the number of threads, if it is larger
FAR = 45  # repaired cells per augmentation in the sampled strips from which flow goes far
STRIPS_PATIENCE = 8.0  # of a grid of several strips, since push-relabel takes it as a whole, on one thread
MASK_CELLS = 1 << 18  # of the labels that a thread writes
SEARCHED_STRIPS = 4  # strips of the smallest range that is searched instead


def solve(grid: Grid, *, callback=None):
    """Change the grid to one without a path from excess to a deficit; the mask of the sink side, and stats."""
    run = Run(grid.excess, grid.residual, grid.layout, callback)
    run.solve(UNTIL_SINK)
    return run.sink_side(), run.stats


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
    return run.sink_side(), run.stats, (run.forest, run.deepest, run.work)


def finish(grid: Grid):
    """The labels of the forests, and stats, of a grid in which a search has given up."""
    run = Run(grid.excess, grid.residual, grid.layout, None)
    run.take_turns(UNTIL_SINK)
    return run.forest.label, run.stats


@lru_cache(maxsize=64)
def unsigned_steps(step):
    """Steps modulo 2^64, as an array and a tuple: sums of unsigned indices wrap, so none is tested for its sign."""
    jump = np.array(step, np.int64).view(np.uint64)
    return jump, tuple(jump)


@lru_cache(maxsize=64)
def block_axes(layout):
    """The axes of the grid as `aggregate_excess` reads them."""
    axis, forward = 3 - len(layout.shape), np.full(3, -1)
    for i in range(axis, 3):
        unit = tuple(int(axis + j == i) for j in range(len(layout.shape)))
        if unit in layout.offsets:
            forward[i] = layout.arc(unit)
    return np.array(layout.extent), np.array(layout.stride3), forward, axis


class Run:
    """One solve: the arrays that all steps share, and the steps in order.

    work         lists for `resolve`, kept from one re-solve to the next for a grid of at most STRIP_CELLS cells: new
                 memory costs as much as small changes
    bounds       the lines at which strips begin, and the number of lines
    """

    def __init__(self, excess, residual, layout, callback, forest=None, deepest=1, work=None):
        if layout.arcs > MAX_ARCS:
            raise ValueError(
                f"edges has {layout.arcs // 2} pairs of opposite offsets; method 'ibfs' accepts at most "
                f"{MAX_ARCS // 2}, use method='push_relabel'"
            )
        self.excess = excess
        self.residual = residual
        self.layout = layout
        self.callback = callback
        self.gave_up, self.has_old_trees = False, forest is not None
        self.index_type = index_type(layout.size)
        self.jump, self.steps = unsigned_steps(layout.step)
        self.lines = layout.shape[0]
        self.threads = thread_count()
        few = self.threads > 1 and 2 * STRIP_CELLS < layout.size < FEW_STRIPS * STRIP_CELLS
        rises = (offset[0] for offset in layout.offsets)
        height = max(MIN_STRIP_LINES, STRIP_CELLS // (1 + few) // layout.stride[0], *rises)
        self.bounds = [*range(0, max(1, self.lines - height // 2), height), self.lines]
        self.patience = 1.0 if len(self.bounds) == 2 else STRIPS_PATIENCE  # of searches
        # Sums of 64-bit capacities could overflow.
        self.sample_size = max(SAMPLED_STRIPS, self.threads) if excess.dtype == np.int32 else 0
        self.deepest = deepest
        self.work = work
        self.stats = {"augmentations": 0, "repaired": 0, "strips": 0, "searched": 0, "threads": self.threads}
        size = layout.size
        self.seams = Seams(residual, layout, [])
        self.forest = forest or Forest(
            np.zeros(size, self.index_type),
            np.empty(size, np.uint8),
            np.empty(size, self.index_type),
            np.zeros(size, np.uint8),
        )

    def solve(self, until):
        """Run all steps; `until`: the forests that must be complete at the end, UNTIL_SINK or UNTIL_BOTH."""
        bounds = self.bounds
        strips = self.stats["strips"] = len(bounds) - 1
        self.seams = Seams(self.residual, self.layout, bounds[1:-1])
        try:
            if strips == 1:
                self._search_all(until, partial(solve_strip, block_axes(self.layout)))
            elif self._run_tasks(bounds, until, self.sample_size if strips >= MIN_FAR_STRIPS else 0):
                self.seams.restore()
                start_from_blocks(self.excess, self.residual, self.layout, self._solve_blocks, self.threads)
                self._run_tasks(bounds, until, 0)
            if self.gave_up:
                self.take_turns(until)
        finally:
            # The callback may have raised: the flow found so far is valid once all arcs are restored.
            self.seams.restore()

    def sink_side(self):
        """The mask of the cells that can reach the sink."""
        label = self.forest.label
        found = np.empty(label.size, bool)
        parts = max(1, min(self.threads, label.size // MASK_CELLS))
        bounds = [label.size * i // parts for i in range(parts + 1)]

        def fill(i):
            part = slice(bounds[i], bounds[i + 1])
            np.less(label[part], 0, out=found[part])

        run_threads(fill, parts)
        return found

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
            touched, budget, self.excess, self.residual, self.steps, self.jump, self.deepest, self.forest, work
        )
        self.stats["augmentations"] += augmentations
        self.stats["repaired"] += repaired + more
        if more > budget:
            self._search_all(UNTIL_BOTH)
            if self.gave_up:
                self.take_turns(UNTIL_BOTH)

    def take_turns(self, until):
        """After a search has given up: solve the whole grid by push-relabel and a search in turns, until one ends."""
        from gridcut.core import push_relabel_steps  # images do not need it
        from gridcut.core.push_relabel_steps import discharge_highest

        self.seams.restore()
        self.gave_up, most = True, 8 * self.layout.size
        while self.gave_up:
            state = self.excess, self.residual, self.layout.step
            push_relabel_steps.solve(*state, discharge=discharge_highest, most=most)
            self.patience, most = MORE * self.patience, MORE * most
            self._search_all(until)

    def _run_tasks(self, bounds, until, samples) -> bool:
        """Solve the strips between the lines `bounds` and merge them to one range.

        Returns whether the first `samples` show that flow goes far, and nothing else is known to be solved.
        """
        if self.has_old_trees:
            # A merge would change one that has a parent across its seam, while its own strip is searched.
            self.forest.label.fill(0)
        self.has_old_trees = True
        self.seams.cut()
        tasks = make_tasks(bounds, self.seams, samples, self.deepest)
        order, state = tasks.order, tasks.state
        threads = min(self.threads, len(order))
        cells = max(tasks.size(order), min(4 * STRIP_CELLS, self.layout.size))  # enough for the first merges
        works = [make_work(cells, self.index_type) for _ in range(threads)]
        axes = block_axes(self.layout)
        before = self.stats["augmentations"], self.stats["repaired"]

        def worker(which):
            task = -1
            while True:
                task = run_tasks(
                    tasks, stop, FAR, MAX_MERGE_REPAIR, SEARCHED_STRIPS, until, self.patience, axes, self.seams.arrays,
                    self.excess, self.residual, self.steps, self.jump, self.forest, works[which], task,
                )  # fmt: skip
                if task < 0:
                    break
                works[which] = make_work(tasks.size(task), self.index_type)

        # One thread sees interrupts between two calls only.
        most = threads if self.callback is not None or threads == 1 else len(order)
        for begin in range(0, len(order), most):
            state[TAKEN], stop = begin, min(begin + most, len(order))
            run_team(worker, threads, tasks.abort)
            total = tasks.found.sum(0)
            self.stats["augmentations"] = before[0] + int(total[AUGMENTATIONS])
            self.stats["repaired"] = before[1] + int(total[REPAIRED])
            self._report("strips", stop, len(order))
            if state[ENDED]:
                break
        self.deepest = int(tasks.deepest.max())
        self.gave_up = bool(state[ENDED] == GAVE_UP)
        self.stats["searched"] += int(total[SEARCHED])
        self._report("merge", len(tasks.table), len(tasks.table))
        return bool(state[ENDED] == FAR_FLOW)

    def _report(self, phase, done, count):
        if self.callback is not None:
            self.callback({"phase": phase, "done": done, "of": count, **self.stats})

    def _search_all(self, until, find=search):
        """Search the whole grid from scratch, by `search` or another function with its arguments."""
        first, last = self.seams.cell(0), self.seams.cell(self.lines)
        depth, augmentations, repaired, self.gave_up = find(
            first, last, until, self.patience,
            self.excess, self.residual, self.steps, self.jump, self.forest, make_work(last - first, self.index_type),
        )  # fmt: skip
        self.deepest = max(self.deepest, depth)
        self.stats["augmentations"] += augmentations
        self.stats["repaired"] += repaired
        self._report("finish", 1, 1)
