"""Minimum-cost flow between the faces of an image grid, by shortest paths from one supply to the next demand [1].

A face is the square between four pixels; an arc joins two faces and crosses the pair of pixels between them:

    pixel   pixel          an arc costs `weight` per unit in either direction, without a capacity; weight 0: none
       face -> face        hole    faces that are one node: 1 is the outside of the image, 2, 3, ... are inside, 0 none
    pixel   pixel          supply  of a face; the supply of a hole is that of its first member

The invariant of successive shortest paths: reduced costs w + price[f] - price[g] >= 0, and 0 along flow.  A path from f
is found by Dijkstra's algorithm, whose queue has a bucket per cost, because reduced costs are at most 2 max w [2].
Only prices of faces nearer than the end of the path change.  Most supplies have a demand nearby, so that a search looks
at some dozen faces.  Searches are abandoned beyond a limit, which grows when all supplies have been tried: the
nearest pairs first leave fewer far ones.  An abandoned search keeps its prices.

The outside takes any excess in the first pass, and in the second pass, in which all arcs are reversed (sign = -1), it
returns what is missing: no search continues there.

[1] Ahuja, Magnanti, Orlin. "Network Flows." Prentice Hall, 1993, section 9.7.
[2] Dial. "Algorithm 360: Shortest-path forest with topological ordering." CACM 12(11), 1969.

O(supplies * faces) in the worst case, and near O(faces) if each demand is near its supply; 41 bytes per face.
"""

from typing import NamedTuple

import numpy as np

from gridcut.device import inner_kernel, kernel

OUTSIDE = 1
NONE = -1
JUMP = 4  # came from the face by which its hole was entered; 0 to 3: across that side of the previous face


class Faces(NamedTuple):
    """Faces in raster order, with an arc to the right (axis 0) and down (axis 1) from each.

    weight, flow        (2, faces)
    hole                (faces,)
    first, members      members[first[h] : first[h + 1]] are the faces of hole h that have arcs
    price, supply       (faces,)
    width               faces per row
    """

    weight: np.ndarray
    flow: np.ndarray
    hole: np.ndarray
    first: np.ndarray
    members: np.ndarray
    price: np.ndarray
    supply: np.ndarray
    width: int


class Search(NamedTuple):
    """State of a search: distance (NONE: not reached) and origin of faces, those reached, and a queue of buckets."""

    distance: np.ndarray
    came: np.ndarray
    reached: np.ndarray
    before: np.ndarray
    after: np.ndarray
    bucket: np.ndarray
    entry: np.ndarray


def solve(weight: np.ndarray, supply: np.ndarray, hole: np.ndarray):
    """Flows (2, height, width) to the right and down, and prices (height, width).

    weight   (2, height, width) int32, 0 beyond the last column and row and between two faces of a hole
    supply   (height, width) int32, with the sum 0
    hole     (height, width) int32; face 0 is outside
    """
    height, width = hole.shape
    hole = hole.ravel()
    has_arc = (weight[0] > 0) | (weight[1] > 0)
    has_arc[:, 1:] |= weight[0, :, :-1] > 0
    has_arc[1:] |= weight[1, :-1] > 0
    members = np.flatnonzero((hole > OUTSIDE) & has_arc.ravel()).astype(np.int32)
    members = members[np.argsort(hole[members], kind="stable")]
    first = np.searchsorted(hole[members], np.arange(hole.max(initial=0) + 2))
    supply = supply.ravel().copy()
    total = np.bincount(hole, supply, len(first)).astype(np.int32)
    supply[hole > 0] = 0
    supply[0] = total[OUTSIDE]
    supply[members[first[2:-1]]] = total[2:-1]
    flow = np.zeros((2, height * width), np.int32)
    price = np.zeros(height * width, np.int64)
    faces = Faces(weight.reshape(2, -1), flow, hole, first, members, price, supply, width)
    route(*faces, 2 * int(weight.max(initial=0)) + 1)
    inside = hole > OUTSIDE
    price[inside] = price[members[first[hole[inside]]]]
    price[hole == OUTSIDE] = 0
    return flow.reshape(2, height, width), price.reshape(height, width)


@kernel
def route(weight, flow, hole, first, members, price, supply, width, buckets):
    """Route all supplies, in place."""
    n = len(hole)
    faces = Faces(weight, flow, hole, first, members, price, supply, width)
    search = Search(
        np.full(n, NONE, np.int64), np.empty(n, np.int8), np.empty(n, np.int32), np.empty(n, np.int32),
        np.empty(n, np.int32), np.full(buckets, NONE, np.int32), np.full(len(first), NONE, np.int32),
    )  # fmt: skip
    for sign in (1, -1):
        todo = np.flatnonzero(supply * sign > 0)
        limit = buckets
        count = len(todo)
        while count > 0:
            left = 0
            for i in range(count):
                s = todo[i]
                while supply[s] * sign > 0 and hole[s] != OUTSIDE:
                    end, reached = find_path(faces, search, s, sign, limit)
                    if end != NONE:
                        send(faces, search, s, end, sign)
                    for k in range(reached):
                        search.distance[search.reached[k]] = NONE
                        search.entry[hole[search.reached[k]]] = NONE
                    if end == NONE:
                        todo[left] = s
                        left += 1
                        break
            count = left
            limit *= 4


@inner_kernel
def find_path(faces, search, source, sign, limit):
    """Search from a face for a face of opposite supply or outside, and change prices.

    Returns its index, or NONE if it is farther than `limit`, and the number of faces reached.
    """
    distance, came, reached, _, _, bucket, entry = search
    distance[source] = 0
    came[source] = NONE
    reached[0] = source
    enqueue(search, source)
    count = 1
    end = NONE
    d = 0
    while end == NONE:
        f = bucket[d % len(bucket)]
        if f == NONE:
            d += 1
            if d > limit:
                break
            continue
        dequeue(search, f)
        if ends(faces, f, sign):
            end = f
            break
        h = faces.hole[f]
        jumps = 0
        if h > OUTSIDE and entry[h] == NONE:
            entry[h] = f
            jumps = faces.first[h + 1] - faces.first[h]
        for k in range(JUMP + jumps):
            if k < JUMP:
                g, cost = across(faces, f, k, sign)
            else:
                g, cost = faces.members[faces.first[h] + k - JUMP], 0
            if g == NONE or (distance[g] != NONE and distance[g] <= d + cost):
                continue
            if distance[g] == NONE:
                reached[count] = g
                count += 1
            else:
                dequeue(search, g)
            distance[g] = d + cost
            came[g] = min(k, JUMP)
            enqueue(search, g)
            if cost == 0 and ends(faces, g, sign):
                end = g
                break
    for i in range(count):
        f = reached[i]
        if distance[f] < d:
            faces.price[f] -= sign * (d - distance[f])
        else:
            bucket[distance[f] % len(bucket)] = NONE
    return end, count


@inner_kernel
def ends(faces, f, sign):
    return faces.hole[f] == OUTSIDE or faces.supply[f] * sign < 0


@inner_kernel
def arc_of(faces, f, side):
    """The axis and the index of the arc across a side (0 right, 1 left, 2 down, 3 up), its direction, and the face."""
    step = 1 if side < 2 else faces.width
    if side % 2 == 0:
        return side // 2, f, 1, f + step
    return side // 2, f - step, -1, f - step


@inner_kernel
def across(faces, f, side, sign):
    """The face beyond a side of face f, or NONE, and the reduced cost of a unit of flow to it."""
    axis, e, direction, g = arc_of(faces, f, side)
    if e < 0 or faces.weight[axis, e] == 0:
        return NONE, 0
    cost = np.int64(faces.weight[axis, e])
    if faces.flow[axis, e] * direction * sign < 0:
        cost = -cost
    return g, cost + sign * (faces.price[f] - faces.price[g])


@inner_kernel
def enqueue(search, f):
    b = search.distance[f] % len(search.bucket)
    head = search.bucket[b]
    search.before[f] = NONE
    search.after[f] = head
    if head != NONE:
        search.before[head] = f
    search.bucket[b] = f


@inner_kernel
def dequeue(search, f):
    before, after = search.before[f], search.after[f]
    if before == NONE:
        search.bucket[search.distance[f] % len(search.bucket)] = after
    else:
        search.after[before] = after
    if after != NONE:
        search.before[after] = before


@inner_kernel
def send(faces, search, source, end, sign):
    """Send as much as supplies and flows against the path allow along the path found."""
    amount = abs(faces.supply[source])
    if faces.hole[end] != OUTSIDE:
        amount = min(amount, abs(faces.supply[end]))
    for is_sent in (False, True):
        f = end
        while f != source:
            side = search.came[f]
            if side == JUMP:
                f = search.entry[faces.hole[f]]
                continue
            axis, e, direction, f = arc_of(faces, f, side ^ 1)  # back across the opposite side
            if is_sent:
                faces.flow[axis, e] -= direction * sign * amount
            elif faces.flow[axis, e] * direction * sign > 0:
                amount = min(amount, abs(faces.flow[axis, e]))
    faces.supply[source] -= sign * amount
    faces.supply[0 if faces.hole[end] == OUTSIDE else end] += sign * amount
