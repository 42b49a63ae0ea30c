"""One move: all pixels that have a choice choose between two labels simultaneously, at minimum energy.

In an expansion, every pixel keeps its label (x = 0) or takes `second` (x = 1).  In a swap, `first` >= 0, and the pixels
with label `first` or `second` choose again between `first` (x = 0) and `second` (x = 1).  With a the label for x = 0,
b = `second`, w the weight of an edge and V the cost of two labels, an edge (p, q) costs

    x_p x_q    00            01           10           11
    cost       w V(a_p, a_q) w V(a_p, b)  w V(b, a_q)  0

A cut represents this if 01 + 10 >= 00 + 11 [1]: always in a swap, by the triangle inequality in an expansion [2].
x = 1 is the sink side, and the tie rule of the cut assigns it to as few pixels as possible.

Each label keeps the flow of its last expansion, one number per edge.  Wherever no label has changed since then, that
flow still proves that no pixel gains, because no excess is negative.  The next expansion of the same label therefore
visits only the changed pixels and their neighbours.  It clamps the old flow to the new capacities, and
`route_to_deficits` satisfies the resulting deficits from the nearest excess, as in [3].  Pixels whose deficit cannot be
satisfied change their label.

Arrays, one entry per cell of gridcut/core/grid.py
  label[p], paid[p]   the label of p and its unary cost
  weight[p * 2K + k]  weight of the edge along arc k; 0 if it leaves the grid
  pixel[p]            index of the pixel in unary[label, pixel], -1 in the padding
  is_listed[p]        1 if p is in `listed`; after loading, its excess and residual hold the capacities of the cut
  flow[p * K + k]     flow along arc 2k of p in the last expansion of this label; empty array: no flow is kept
  is_listed, excess, residual and the forest's labels are 0 everywhere between moves

[1] Kolmogorov, Zabih. "What energy functions can be minimized via graph cuts?" PAMI 26(2), 2004.
[2] Boykov, Veksler, Zabih. "Fast approximate energy minimization via graph cuts." PAMI 23(11), 2001.
[3] Alahari, Kohli, Torr. "Reduce, reuse & recycle: efficiently solving multi-label MRFs." CVPR 2008.

Time: one visit of the arcs of each listed pixel, plus the cut.  Memory: none beyond the arrays."""

from typing import NamedTuple

import numpy as np

from gridcut.device import inner_kernel, lowest_bit, plain_kernel
from gridcut.ibfs.forest import FREE, ONE, ROOT, ZERO, augment, compact, repair, use_depths
from gridcut.ibfs.search import open_arcs

# The rules of one move at one pixel and one edge, shared by CPU and GPU; see gridcut/multilabel/moves.py.


@inner_kernel
def has_choice(label, first, second):
    """Whether a pixel with this label can choose between two labels in the move."""
    return label != second if first < 0 else (label == first) | (label == second)


@inner_kernel
def within(value, low, high):
    """A value moved into the range from low to high; numba compiles `min` and `max` once for each call."""
    return low if value < low else high if value > high else value


@inner_kernel
def split_capacity(k, current, out, back):
    """Capacity of arc k of an edge of weight 1, and the sum of the capacities of both directions.

    current   cost of the edge with the present labels
    out       its cost if only the far end takes the new label
    back      its cost if only this end does

    Each end gets half of `current`, so that between equal labels both directions have the same capacity.
    """
    both = out + back - current
    half = current // 2 if k % 2 == 0 else current - current // 2
    room = out - half  # limited without `within`, which the simulator of GPUs would compile for the CPU in a thread
    if room < 0:
        room = 0
    elif room > both:
        room = both
    return room, both


class Field(NamedTuple):
    """The energy, a labelling, and the working arrays of a move; see above."""

    unary: np.ndarray
    cost: np.ndarray
    weight: np.ndarray
    pixel: np.ndarray
    label: np.ndarray
    paid: np.ndarray
    is_listed: np.ndarray
    excess: np.ndarray
    residual: np.ndarray
    listed: np.ndarray  # the cells that have a choice
    allowed: np.ndarray  # (labels, pixels), False where a move may not assign the label; empty: all may


@inner_kernel
def capacity(k, a, far_label, b, cost):
    """Capacity of arc k from label a to label `far_label`, and the sum of both directions, for weight 1."""
    return split_capacity(k, np.int64(cost[a, far_label]), np.int64(cost[a, b]), np.int64(cost[b, far_label]))


@inner_kernel
def may_choose(p, first, second, label, pixel, allowed):
    """Whether pixel p can choose between two labels in the move, and is allowed to take the second."""
    return has_choice(label[p], first, second) and (allowed.size == 0 or allowed[second, pixel[p]])


@inner_kernel
def list_all(first, second, start, end, field):
    """List the pixels among the cells start..end that have a choice; returns their number."""
    pixel, label, allowed, is_listed, listed = field.pixel, field.label, field.allowed, field.is_listed, field.listed
    count = 0
    for i in range(start, end):
        p = np.uint64(i)
        if pixel[p] >= 0 and may_choose(p, first, second, label, pixel, allowed):
            is_listed[p] = 1
            listed[count] = p
            count += 1
    return count


@inner_kernel
def list_with_neighbours(cells, end, first, second, step, field, count):
    """Also list cells[:end] and their neighbours; returns the new number of listed cells."""
    weight, pixel, label, allowed = field.weight, field.pixel, field.label, field.allowed
    is_listed, listed = field.is_listed, field.listed
    arcs = np.uint64(len(step))
    for i in range(end):
        p = np.uint64(cells[i])
        if is_listed[p] == 0 and may_choose(p, first, second, label, pixel, allowed):
            is_listed[p] = 1
            listed[count] = p
            count += 1
        for k in range(len(step)):
            q = p + step[k]
            if weight[p * arcs + np.uint64(k)] == 0 or is_listed[q] != 0:
                continue
            if may_choose(q, first, second, label, pixel, allowed):
                is_listed[q] = 1
                listed[count] = q
                count += 1
    return count


@inner_kernel
def load(start, end, first, second, step, flow, field):
    """Write the capacities of listed[start:end] into the solver's grid; returns the number of deficits."""
    unary, cost, weight, pixel = field.unary, field.cost, field.weight, field.pixel
    label, paid, listed, allowed = field.label, field.paid, field.listed, field.allowed
    excess, residual = field.excess, field.residual
    arcs = np.uint64(len(step))
    deficits = 0
    for i in range(start, end):
        p = np.uint64(listed[i])
        a = label[p] if first < 0 else first
        held = np.int64(unary[second, pixel[p]]) - (paid[p] if first < 0 else unary[first, pixel[p]])
        for k in range(len(step)):
            at = p * arcs + np.uint64(k)
            w = np.int64(weight[at])
            if w == 0:
                continue
            q = p + step[k]
            theirs = label[q]
            if may_choose(q, first, second, label, pixel, allowed):
                theirs = theirs if first < 0 else first
                room, both = capacity(k, a, theirs, second, cost)
                room *= w
                back = both * w - room
                sent = np.int64(0)
                if flow.size > 0:
                    edge = (p if k % 2 == 0 else q) * (arcs // np.uint64(2)) + np.uint64(k // 2)
                    sent = np.int64(flow[edge])
                    sent = within(sent if k % 2 == 0 else -sent, -back, room)
                residual[at] = room - sent
                held -= back + sent
            held += w * (np.int64(cost[second, theirs]) - cost[a, theirs])
        excess[p] = held
        deficits += held < 0
    return deficits


@inner_kernel
def load_all(second, start, end, step, flow, field):
    """`list_all` and `load` for an expansion, in one sweep that visits every edge once.

    Returns the number of listed cells and the number of deficits.
    """
    unary, cost, weight, pixel = field.unary, field.cost, field.weight, field.pixel
    label, paid, is_listed, listed = field.label, field.paid, field.is_listed, field.listed
    excess, residual = field.excess, field.residual
    arcs = np.uint64(len(step))
    column = cost[second]  # costs are symmetric
    count = 0
    deficits = 0
    for i in range(start, end):
        p = np.uint64(i)
        if pixel[p] < 0:
            continue
        a = label[p]
        held = np.int64(excess[p])  # from the edges that earlier cells share with p
        for k in range(0, len(step), 2):
            at = p * arcs + np.uint64(k)
            w = np.int64(weight[at])
            if w == 0:
                continue
            q = p + step[k]
            theirs = label[q]
            if theirs == second:
                held -= w * np.int64(column[a])
            elif a == second:
                excess[q] -= w * np.int64(column[theirs])
            elif theirs == a:  # most edges: their current cost is 0
                room = w * np.int64(column[a])
                sent = within(np.int64(flow[p * (arcs // np.uint64(2)) + np.uint64(k // 2)]), -room, room)
                residual[at] = room - sent
                residual[q * arcs + np.uint64(k + 1)] = room + sent
                held -= sent
                excess[q] += sent
            else:
                current = np.int64(cost[a, theirs])
                room, both = split_capacity(k, current, np.int64(column[a]), np.int64(column[theirs]))
                room *= w
                back = both * w - room
                sent = within(np.int64(flow[p * (arcs // np.uint64(2)) + np.uint64(k // 2)]), -back, room)
                residual[at] = room - sent
                residual[q * arcs + np.uint64(k + 1)] = back + sent
                held += w * (np.int64(column[theirs]) - current) - back - sent
                excess[q] += w * (np.int64(column[a]) - current) - room + sent
        if a == second:
            continue
        held += np.int64(unary[second, pixel[p]]) - paid[p]
        excess[p] = held
        deficits += held < 0
        is_listed[p] = 1
        listed[count] = p
        count += 1
    return count, deficits


@inner_kernel
def route_to_deficits(count, whole, first, second, step, jump, flow, field, forest, work):
    """Route excess to the deficits of the listed cells, nearest excess first, until no augmenting path remains.

    A sink forest grows from the deficits one level at a time.  Unless the whole grid is loaded, it lists and loads the
    cells that it reaches; arcs from cells that are not loaded have no capacity.  A cell with excess completes an
    augmenting path.  The cells that are in the forest at the end reach a deficit that cannot be satisfied.  Returns
    the number of listed cells.
    """
    excess, residual, listed = field.excess, field.residual, field.listed
    label, parent = forest.label, forest.parent
    source_orphans, sink_orphans = work.source_orphans, work.sink_orphans
    now, after = work.sink_now, work.sink_next
    arcs = np.uint64(len(step))
    waiting = 0
    for i in range(count):
        p = np.uint64(listed[i])
        if excess[p] < 0:
            label[p] = -1
            parent[p] = ROOT
            now[waiting] = p
            waiting += 1
    depth = 1
    while waiting > 0:
        use_depths(depth + 3, work.ends, work.head)
        if not whole:
            known = count
            count = list_with_neighbours(now, waiting, first, second, step, field, count)
            load(known, count, first, second, step, flow, field)
        grown = 0
        for i in range(waiting):
            u = np.uint64(now[i])
            if label[u] != -depth:
                continue
            mask = open_arcs(u, -1, residual, step, label)
            later = ZERO
            while mask != ZERO:
                k = lowest_bit(mask)
                w = u + jump[k]
                if excess[w] <= 0:
                    mask &= mask - ONE
                    later |= ONE << k
                    continue
                label[w] = 1
                parent[w] = ROOT
                _, orphans = augment(u, w, k, -1, excess, residual, jump, parent, source_orphans, sink_orphans)
                label[w] = 0
                parent[w] = FREE
                if orphans > 0:
                    grown, _ = repair(
                        -1, depth + 1, False, sink_orphans, orphans, after, grown, residual, step, jump, forest, work
                    )
                    later = ZERO
                    if label[u] != -depth:
                        break
                    mask = open_arcs(u, -1, residual, step, label)
                elif residual[w * arcs + (k ^ ONE)] == 0:
                    mask &= mask - ONE
            while later != ZERO:
                k = lowest_bit(later)
                later &= later - ONE
                w = u + jump[k]
                if grown == after.size:
                    grown = compact(after, grown, label, -depth - 1)
                label[w] = -depth - 1
                parent[w] = k ^ ONE
                after[grown] = w
                grown += 1
        waiting = grown
        now, after = after, now
        depth += 1
    return count


@inner_kernel
def read_cut(count, first, second, step, flow, field, forest):
    """Read the sides of the cut, store the flow, and clear the solver's grid.

    Moves the pixels whose label would change to the front of `listed`, where they stay marked in `is_listed`.
    Returns their number.
    """
    cost, weight, label, is_listed, listed = field.cost, field.weight, field.label, field.is_listed, field.listed
    excess, residual = field.excess, field.residual
    side, parent = forest.label, forest.parent
    arcs = np.uint64(len(step))
    remembers = flow.size > 0
    changed = 0
    for i in range(count):
        p = np.uint64(listed[i])
        a = label[p] if first < 0 else first
        for k in range(0, len(step), 2):
            at = p * arcs + np.uint64(k)
            w = np.int64(weight[at])
            if remembers and w > 0:
                theirs = label[p + step[k]]
                edge = p * (arcs // np.uint64(2)) + np.uint64(k // 2)
                if theirs == a:
                    flow[edge] = w * cost[a, second] - residual[at]
                elif has_choice(theirs, first, second):
                    room, _ = capacity(k, a, np.int64(theirs), second, cost)
                    flow[edge] = room * w - residual[at]
            residual[at] = 0
            residual[at + ONE] = 0
        excess[p] = 0
        one = side[p] < 0
        side[p] = 0
        parent[p] = FREE
        if one if first < 0 else one != (label[p] == second):
            listed[changed] = p
            changed += 1
        else:
            is_listed[p] = 0
    return changed


@inner_kernel
def energy_change(changed, first, second, step, field):
    """Change of the energy if the first `changed` listed pixels, the only ones marked, change their labels."""
    unary, cost, weight, pixel = field.unary, field.cost, field.weight, field.pixel
    label, paid, is_listed, listed = field.label, field.paid, field.is_listed, field.listed
    arcs = np.uint64(len(step))
    total = np.int64(0)
    for i in range(changed):
        p = np.uint64(listed[i])
        old = label[p]
        new = second if first < 0 else first + second - old
        total += np.int64(unary[new, pixel[p]]) - paid[p]
        for k in range(len(step)):
            w = np.int64(weight[p * arcs + np.uint64(k)])
            if w > 0:
                q = p + step[k]
                theirs = label[q]
                if is_listed[q] == 0:
                    total += w * (np.int64(cost[new, theirs]) - cost[old, theirs])
                elif k % 2 == 0:  # both ends change: counted once
                    after = second if first < 0 else first + second - theirs
                    total += w * (np.int64(cost[new, after]) - cost[old, theirs])
    return total


@inner_kernel
def apply(changed, accepted, first, second, field):
    """Change the labels of the first `changed` listed pixels if the move is accepted, and clear their marks."""
    unary, pixel, label, paid, listed = field.unary, field.pixel, field.label, field.paid, field.listed
    for i in range(changed):
        p = np.uint64(listed[i])
        field.is_listed[p] = 0
        if accepted:
            label[p] = second if first < 0 else first + second - label[p]
            paid[p] = unary[label[p], pixel[p]]


@plain_kernel
def make_move(cells, whole, first, second, start, end, step, jump, flow, field, forest, work):
    """Make the best move if it lowers the energy; returns the number of changed cells, in `listed`, and the change.

    whole         load the cells start..end; else `cells`, their neighbours, and what `route_to_deficits` reaches
    flow          of the last expansion of this label; of a swap, an empty array
    """
    if whole and first < 0 and field.allowed.size == 0:
        count, deficits = load_all(second, start, end, step, flow, field)
    else:
        if whole:
            count = list_all(first, second, start, end, field)
        else:
            count = list_with_neighbours(cells, cells.size, first, second, step, field, 0)
        deficits = load(0, count, first, second, step, flow, field)
    if deficits > 0:
        count = route_to_deficits(count, whole, first, second, step, jump, flow, field, forest, work)
    changed = read_cut(count, first, second, step, flow, field, forest)
    delta = energy_change(changed, first, second, step, field)
    apply(changed, delta < 0, first, second, field)
    return (changed, delta) if delta < 0 else (0, np.int64(0))


@plain_kernel
def energy_kernel(step, field):
    """Energy of the labelling in integer units."""
    cost, weight, pixel, label, paid = field.cost, field.weight, field.pixel, field.label, field.paid
    arcs = np.uint64(len(step))
    total = np.int64(0)
    for i in range(label.size):
        p = np.uint64(i)
        if pixel[p] < 0:
            continue
        total += paid[p]
        for k in range(0, len(step), 2):
            w = np.int64(weight[p * arcs + np.uint64(k)])
            if w > 0:
                total += w * cost[label[p], label[p + step[k]]]
    return total
