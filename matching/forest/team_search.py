"""The search of bitmap_search.py by a team of threads: of the default, of ms_bfs and of ms_bfs_graft.

Makes a matching maximum, by the same rules.  The threads meet after each step (gridcut/device/threads.py); the last
one to arrive chooses the next step, and does levels of less than `wide` vertices itself.  team_steps.py has the steps:

Steps                                                                                   [2]
  START      list the free rows and mark the free columns; clear
  CLEAR      list the roots that are still free; clear seen and owner
  SETUP      start a tree from each root
  MATE       replace the columns of the frontier by the rows they are matched with
  DOWN, UP   a level, from the frontier or from the columns in no tree                  algorithms 4 and 6
  AUGMENT    augment along the path of each tree in `found`; count released columns     algorithm 3, line 18
  RELEASE    divide the queue into the rows of kept trees and released columns          algorithm 7, lines 1 to 7
  GRAFT      graft released columns                                                     algorithm 7, line 9

Sources, deviations and complexity: bitmap_search.py.  Memory: 28 bytes per column and 16 per row.
"""

from time import perf_counter
from typing import NamedTuple

import numpy as np

from gridcut.device import atomic_add, inner_kernel, kernel
from gridcut.device.threads import is_last, new_cells, release, run_team, wait
from matching.core.counts import (
    AUGMENTATIONS,
    EDGES,
    EDGES_GRAFT,
    EDGES_UP,
    GRAFTS,
    LEVELS,
    LEVELS_UP,
    PATH_LENGTH,
    PHASES,
    new_counts,
)
from matching.forest.bitmap_search import UNLIMITED
from matching.forest.team_steps import (
    ACTIVE,
    ALSO,
    CHUNK,
    COLUMNS,
    EDGE,
    FLIP,
    FORM,
    FOUND,
    FREE,
    HEAD,
    LIST_CHUNK,
    MAXIMUM,
    NEXT,
    NUMBER,
    OPENING,
    PRIVATE,
    RELEASED,
    ROOT_FLIP,
    ROOT_TAIL,
    ROOTS,
    ROWS,
    SCANNED,
    SIZE,
    STATE_SIZE,
    STEP,
    TAIL,
    Graph,
    Private,
    Trees,
    augment,
    clear,
    down,
    graft,
    list_roots,
    mate,
    release_trees,
    set_up,
    up,
)

WIDE = 512  # vertices of a level from which all threads share it
START, CLEAR, SETUP, MATE, DOWN, UP, AUGMENT, RELEASE, GRAFT, DONE = range(10)
OF_STEP = {DOWN: "forest", UP: "forest", MATE: "forest", AUGMENT: "augment"}  # others: "frontier"


Lists = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # of the rows and of the columns: pointers, neighbours


class Limits(NamedTuple):
    """Rules of bitmap_search.py; width of shared levels; bounds on scanned edges and on the number of paths."""

    alpha: float
    keep: float
    paper: bool
    wide: int
    budget: int
    missing: int


@inner_kernel
def start_step(s, step, first):
    """Name the next step, whose first item is `first`."""
    s[STEP] = step
    s[NEXT], s[ALSO] = first, 0


@inner_kernel
def end_level(s, form):
    """The columns found by a level become the frontier."""
    s[HEAD] = 0 if s[FORM] == ROOTS else s[EDGE]
    s[EDGE] = s[TAIL]
    s[FORM] = form


@inner_kernel
def do_part(g, t, private, limits):
    """This thread's part of the current step."""
    s, counts = t.s, private.counts
    step = s[STEP]
    edges = 0
    if step == START or step == CLEAR:
        old = t.root[1 - s[ROOT_FLIP], : s[NUMBER]]
        list_roots(g, t, private, t.root[s[ROOT_FLIP]], old)
        clear(g, t, step == START)
    elif step == SETUP:
        set_up(t)
    elif step == MATE:
        mate(g, t)
    elif step == DOWN:
        edges = down(g, t, private)
    elif step == UP:
        edges = up(g, t, private)
        counts[EDGES_UP] += edges
    elif step == AUGMENT:
        length, released = augment(g, t, limits.keep > 0 and g.col_ptr.size > 0)
        counts[PATH_LENGTH] += length
        atomic_add(s, RELEASED, released)
    elif step == RELEASE:
        release_trees(g, t, private)
    elif step == GRAFT:
        edges = graft(g, t, private)
        counts[EDGES_GRAFT] += edges
    counts[EDGES] += edges
    if edges:
        atomic_add(s, SCANNED, edges)


@inner_kernel
def next_level(g, t, private, limits):
    """Choose the next level; narrow ones are done here, by this thread alone."""
    s, counts = t.s, private.counts
    while s[HEAD] < s[EDGE]:
        width = s[EDGE] - s[HEAD]
        goes_up = limits.alpha > 0 and g.col_ptr.size > 0 and (limits.paper or s[OPENING] == 0)
        goes_up = goes_up and width * limits.alpha >= g.col_match.size - s[TAIL]
        step = MATE if goes_up and s[FORM] == COLUMNS else UP if goes_up else DOWN
        start_step(s, step, 0 if step == UP else s[HEAD])
        if step != MATE:
            counts[LEVELS] += 1
            counts[LEVELS_UP] += step == UP
        if width >= limits.wide:
            s[SIZE] = max(8, min(CHUNK, width >> 7))
            return
        s[SIZE] = CHUNK
        do_part(g, t, private, limits)
        end_step(s)
    start_step(s, AUGMENT, 0)
    s[RELEASED] = 0


@inner_kernel
def end_step(s):
    """What follows from a level, or from its preparation."""
    if s[STEP] == MATE:
        s[FORM] = ROWS
    else:
        end_level(s, ROWS if s[STEP] == UP else COLUMNS)
        s[OPENING] = 0


@inner_kernel
def end_phase(g, t, private, limits):
    """After the augmentations: end, keep the trees without a path, or start again."""
    s, counts = t.s, private.counts
    found, released = s[FOUND], s[RELEASED]
    counts[PHASES] += 1
    counts[AUGMENTATIONS] += found
    s[FREE] -= found
    s[ACTIVE] -= found
    if found == 0 or s[FREE] == 0 or s[ACTIVE] == 0:
        s[MAXIMUM] = 1
        s[STEP] = DONE
    elif s[SCANNED] > limits.budget:
        s[STEP] = DONE
    else:
        s[RELEASED] = 0
        s[TAIL] = 0
        kept = s[EDGE] - released
        if limits.paper:
            kept, released = kept + s[ACTIVE], released + found
        if limits.keep > 0 and g.col_ptr.size > 0 and kept * limits.keep >= released:
            s[FLIP] = 1 - s[FLIP]
            start_step(s, RELEASE, 0)
        else:
            s[ROOT_FLIP] = 1 - s[ROOT_FLIP]
            s[ROOT_TAIL], s[FOUND] = 0, 0
            start_step(s, CLEAR, 0)


@inner_kernel
def next_step(g, t, private, limits):
    """Run by the last thread to arrive: from the step that has ended to the next one."""
    s, counts = t.s, private.counts
    step = s[STEP]
    if step == START or step == CLEAR:
        s[NUMBER] = s[ROOT_TAIL]
        s[ACTIVE] = s[NUMBER]
        if step == START:
            s[SCANNED] = 0
            s[FREE] = min(s[FREE], limits.missing)
        if s[NUMBER] == 0 or s[FREE] == 0:
            s[MAXIMUM] = 1
            s[STEP] = DONE
        else:
            start_step(s, SETUP, 0)
    elif step == SETUP:
        s[FORM], s[HEAD], s[EDGE], s[TAIL], s[OPENING] = ROOTS, 0, s[NUMBER], 0, 1
        next_level(g, t, private, limits)
    elif step == AUGMENT:
        end_phase(g, t, private, limits)
    elif step == RELEASE:
        s[FOUND] = 0
        s[HEAD] = s[TAIL]
        start_step(s, GRAFT, 0)
    elif step == GRAFT:
        counts[GRAFTS] += 1
        s[EDGE], s[FORM], s[OPENING] = s[TAIL], COLUMNS, 1
        if s[HEAD] == s[EDGE] and s[FOUND] == 0:
            s[MAXIMUM] = 1
            s[STEP] = DONE
        else:
            next_level(g, t, private, limits)
    else:
        end_step(s)
        next_level(g, t, private, limits)


@kernel
def work(cells, threads, g, t, limits, counts, steps):
    """One thread of the team; returns at the end of the search or, for one that works alone, after some steps."""
    private = Private(np.empty(PRIVATE, np.int32), np.empty(PRIVATE, np.int32), np.empty(LIST_CHUNK, np.int32), counts)
    generation = 0
    while t.s[STEP] != DONE and generation < steps:
        do_part(g, t, private, limits)
        generation += 1
        if threads == 1 or is_last(cells, threads, generation):
            next_step(g, t, private, limits)
            release(cells, generation)
        elif not wait(cells, generation):
            return


def search_by_team(
    lists: Lists, row_match, col_match, counts, budget, missing, rules, threads: int, wide: int = WIDE
) -> bool:
    """`search` of bitmap_search.py on several threads: lists are the four arrays of both sides."""
    g, t, limits = arrays(
        lists, row_match, col_match, Limits(rules.alpha, rules.keep, rules.paper, wide, budget, missing)
    )
    cells, of_threads = new_cells(), [new_counts() for _ in range(threads)]
    run_team(lambda i: work(cells, threads, g, t, limits, of_threads[i], UNLIMITED), threads, cells)
    counts += sum(of_threads)
    return bool(t.s[MAXIMUM])


def search_by_step(lists: Lists, row_match, col_match, counts, rules) -> dict:
    """The same on this thread, until the matching is maximum; returns the seconds of each group of steps."""
    g, t, limits = arrays(
        lists, row_match, col_match, Limits(rules.alpha, rules.keep, rules.paper, 1, UNLIMITED, UNLIMITED)
    )
    cells, seconds = new_cells(), {"forest": 0.0, "augment": 0.0, "frontier": 0.0}
    while t.s[STEP] != DONE:
        group, begin = OF_STEP.get(int(t.s[STEP]), "frontier"), perf_counter()
        work(cells, 1, g, t, limits, counts, 1)
        seconds[group] += perf_counter() - begin
    return seconds


def arrays(lists: Lists, row_match, col_match, limits: Limits) -> tuple[Graph, Trees, Limits]:
    """The arguments of `work`, at step START."""
    n, m = len(row_match), len(col_match)
    words, with_lists = (m >> 6) + 1, len(lists[2]) > 0
    trees = Trees(
        seen=np.empty(words, np.uint64),
        open=np.empty(words, np.uint64),
        parent=np.empty(m, np.int32),
        root=np.empty((2, n), np.int32),
        leaf=np.empty(n, np.int32),
        queue=np.empty((2, m), np.int32),
        tree=np.empty((2, m), np.int32),
        owner=np.empty(n if with_lists else 0, np.int32),
        found=np.empty(min(n, m), np.int32),
        released=np.empty(m if with_lists else 0, np.int32),
        s=np.zeros(STATE_SIZE, np.int64),
    )
    return Graph(*lists, row_match, col_match), trees, limits
