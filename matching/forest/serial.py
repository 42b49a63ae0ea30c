"""The steps of a phase for one thread: Azad, Buluç, Pothen, algorithms 4 to 7 (arrays in forest.py).

Deviations from the paper: a tree that has found a leaf is left immediately, not after the other neighbours of the
vertex; members of a tree are linked and unvisited y are listed, so that a phase accesses only renewable trees and the
vertices it visits; the search ends without a last phase if no y or no x is unmatched.

Azad, Buluç, Pothen. "A parallel tree grafting algorithm for maximum cardinality matching in bipartite graphs."
IPDPS 2015.
"""

from gridcut.device import kernel
from matching.forest.forest import (
    ACTIVE,
    AUGMENTATIONS,
    EDGES_DOWN,
    EDGES_GRAFT,
    EDGES_UP,
    FOUND,
    FREE,
    GRAFTS,
    LENGTH,
    LEVELS,
    LEVELS_UP,
    LISTED,
    OPEN,
    PHASES,
    SPARE,
    TAIL,
    UNLINKED,
    UNVISITED,
)

SCANS_PER_LINK = 16  # following the link of a vertex takes about as long as scanning this many vertices
MIN_UNLINKED_RATIO = 64  # a level links the vertices it visits if its frontier has less than 1/64 of all y


@kernel
def adopt(problem, forest, x, y, end, linking):
    """Algorithm 5: y, which is in no tree, becomes a child of x; returns the new end of the queue."""
    r = forest.root_x[x]
    forest.parent[y] = x
    forest.root_y[y] = r
    next_x = problem.mate_y[y]
    if next_x < 0:
        forest.leaf[r] = y
        forest.found[forest.count[FOUND]] = r
        forest.count[FOUND] += 1
        return end
    forest.root_x[next_x] = r
    if linking:
        forest.link[next_x] = forest.link[r]
        forest.link[r] = next_x
    forest.queue[end] = next_x
    return end + 1


@kernel
def top_down(problem, forest, head, tail, linking):
    """Algorithm 4 on F = queue[head:tail]; returns the end of Q, which follows F in the queue."""
    end = tail
    edges = 0
    for k in range(head, tail):
        x = forest.queue[k]
        r = forest.root_x[x]
        if forest.leaf[r] >= 0:
            continue
        for a in range(problem.x_ptr[x], problem.x_ptr[x + 1]):
            y = problem.x_adj[a]
            edges += 1
            if forest.root_y[y] < 0:
                end = adopt(problem, forest, x, y, end, linking)
                if forest.leaf[r] >= 0:
                    break
    forest.count[EDGES_DOWN] += edges
    return end


@kernel
def bottom_up(problem, forest, candidates, number, end, unlist, linking):
    """Algorithm 6 on R = candidates[:number]; candidates that remain in no tree move to the front.

    Returns the new end of the queue, the number of candidates in no tree, and the number of scanned edges.
    """
    left = 0
    edges = 0
    for k in range(number):
        y = candidates[k]
        if forest.root_y[y] < 0:
            for a in range(problem.y_ptr[y], problem.y_ptr[y + 1]):
                x = problem.y_adj[a]
                edges += 1
                r = forest.root_x[x]
                if r >= 0 and forest.leaf[r] < 0:
                    end = adopt(problem, forest, x, y, end, linking)
                    break
        if forest.root_y[y] < 0:
            candidates[left] = y
            left += 1
        elif unlist:
            forest.listed[y] = 0
    return end, left, edges


@kernel
def grow(problem, forest, head, alpha, both_ways, wide):
    """Algorithm 3, lines 8 to 13, until the frontier is empty or has `wide` vertices; returns its queue index."""
    count = forest.count
    while head < count[TAIL] and count[TAIL] - head < wide:
        tail = count[TAIL]
        before = count[FOUND]
        linking = (tail - head) * MIN_UNLINKED_RATIO < len(forest.root_y)
        if not linking:
            count[UNLINKED] = 1
        if both_ways and (tail - head) * alpha >= count[UNVISITED]:
            end, count[LISTED], edges = bottom_up(problem, forest, forest.unvisited, count[LISTED], tail, True, linking)
            count[EDGES_UP] += edges
            count[LEVELS_UP] += 1
        else:
            end = top_down(problem, forest, head, tail, linking)
        head = tail
        count[TAIL] = end
        count[ACTIVE] += end - tail
        count[UNVISITED] -= end - tail + count[FOUND] - before
        count[LEVELS] += 1
    return head


@kernel
def augment(problem, forest, first, last):
    """Augment along the paths of found[first:last]; returns their number of edges."""
    length = 0
    for k in range(first, last):
        y = forest.leaf[forest.found[k]]
        while y >= 0:
            x = forest.parent[y]
            next_y = problem.mate_x[x]
            problem.mate_x[x] = y
            problem.mate_y[y] = x
            length += 2
            y = next_y
        length -= 1
    return length


@kernel
def collect(problem, forest, first, last, number):
    """Algorithm 7, lines 4 to 7: move all y of the trees of found[first:last] to the end of renewable[:number].

    After the augmentation the mates of a tree's x are all its y, including the leaf.
    """
    for k in range(first, last):
        x = forest.found[k]
        while x >= 0:
            y = problem.mate_x[x]
            forest.root_y[y] = -1
            forest.renewable[number] = y
            number += 1
            x = forest.link[x]
    return number


@kernel
def collect_by_scan(forest):
    """`collect` for all trees in `found`, before or after the augmentation: in order of y, faster for many trees."""
    number = 0
    for y in range(len(forest.root_y)):
        r = forest.root_y[y]
        if r >= 0 and forest.leaf[r] >= 0:
            forest.root_y[y] = -1
            forest.renewable[number] = y
            number += 1
    return number


@kernel
def list_unvisited(forest, candidates, number):
    """Add the candidates to the list of unvisited y."""
    count = forest.count
    for k in range(number):
        y = candidates[k]
        if forest.listed[y] == 0:
            forest.listed[y] = 1
            forest.unvisited[count[LISTED]] = y
            count[LISTED] += 1


@kernel
def update_counts(problem, forest, number):
    """Update the counts after `number` y have been removed from renewable trees."""
    count = forest.count
    # A renewable tree has as many x as it has matched y now; a spare y added no x.
    count[ACTIVE] -= number - count[SPARE]
    count[UNVISITED] += number
    count[AUGMENTATIONS] += count[FOUND]
    count[OPEN] -= count[FOUND]
    kept = 0
    for k in range(count[FREE]):
        x = forest.free[k]
        if problem.mate_x[x] < 0:
            forest.free[kept] = x
            kept += 1
    count[FREE] = kept
    count[FOUND] = 0
    count[SPARE] = 0


@kernel
def reroot_by_scan(problem, forest):
    """Clear all roots, and list every y with neighbours again, in order."""
    forest.root_x[:] = -1
    forest.root_y[:] = -1
    number = 0
    for y in range(len(forest.root_y)):
        if problem.y_ptr[y] < problem.y_ptr[y + 1]:
            forest.unvisited[number] = y
            forest.listed[y] = 1
            number += 1
    forest.count[LISTED] = number


@kernel
def reroot(problem, forest):
    """Algorithm 7, lines 11 to 15: destroy the active trees too, and restart from their roots."""
    count = forest.count
    count[UNVISITED] += count[ACTIVE] - count[FREE]
    most = count[UNLINKED] == 1 or count[ACTIVE] * SCANS_PER_LINK > len(forest.root_x)
    count[UNLINKED] = 0
    if most:
        reroot_by_scan(problem, forest)
    for k in range(count[FREE]):
        r = forest.free[k]
        forest.root_x[r] = r
        x = -1 if most else forest.link[r]
        while x >= 0:
            y = problem.mate_x[x]
            forest.root_y[y] = -1
            if forest.listed[y] == 0:
                forest.listed[y] = 1
                forest.unvisited[count[LISTED]] = y
                count[LISTED] += 1
            forest.root_x[x] = -1
            x = forest.link[x]
        forest.link[r] = -1
        forest.queue[k] = r
    count[ACTIVE] = count[FREE]
    count[TAIL] = count[FREE]


@kernel
def prefer_grafting(forest, number, alpha):
    """Algorithm 7, line 8."""
    return forest.count[ACTIVE] * alpha > number


@kernel
def graft_or_reroot(problem, forest, number, alpha, grafting):
    """Algorithm 7, lines 8 to 15: graft renewable[:number], or restart from the roots."""
    count = forest.count
    if grafting and prefer_grafting(forest, number, alpha):
        end, left, edges = bottom_up(problem, forest, forest.renewable, number, 0, False, count[UNLINKED] == 0)
        count[TAIL] = end
        count[ACTIVE] += end
        count[UNVISITED] -= number - left
        count[EDGES_GRAFT] += edges
        count[GRAFTS] += 1
        list_unvisited(forest, forest.renewable, left)
    else:
        list_unvisited(forest, forest.renewable, number)
        reroot(problem, forest)


@kernel
def next_frontier(problem, forest, alpha, grafting):
    """Algorithm 7."""
    count = forest.count
    expected = count[ACTIVE] * count[FOUND] // count[FREE]
    if count[UNLINKED] == 1 or expected * SCANS_PER_LINK > len(forest.root_y):
        number = collect_by_scan(forest)
    else:
        number = collect(problem, forest, 0, count[FOUND], 0)
    update_counts(problem, forest, number)
    graft_or_reroot(problem, forest, number, alpha, grafting)


@kernel
def is_finished(forest):
    """Whether no further paths exist after the augmentations of this phase; if so, updates the counts."""
    count = forest.count
    found = count[FOUND]
    if found > 0 and found < count[FREE] and found < count[OPEN]:
        return False
    count[AUGMENTATIONS] += found
    count[FREE] -= found
    count[OPEN] -= found
    return True


@kernel
def run_phases(problem, forest, alpha, both_ways, grafting, budget):
    """Algorithm 3, until the matching is maximum or `budget` phases have run; returns whether it is maximum."""
    count = forest.count
    while count[FREE] > 0 and count[OPEN] > 0 and budget > 0:
        grow(problem, forest, 0, alpha, both_ways, len(forest.queue) + 1)
        count[PHASES] += 1
        count[LENGTH] += augment(problem, forest, 0, count[FOUND])
        if is_finished(forest):
            return True
        next_frontier(problem, forest, alpha, grafting)
        budget -= 1
    return count[FREE] == 0 or count[OPEN] == 0
