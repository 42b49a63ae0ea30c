"""Discharge one tile with one thread block, in shared memory.

    load_tile    load excess, residuals, and the heights of the tile and of its halo, one pixel wide
    discharge    each pixel, repeatedly: push to the lowest neighbour, or relabel (Łupińska, algorithm 4.5)
    store_tile   store everything, and add the flow that left the tile to the neighbouring tiles

Tiles joined by an arc have different colours, and only tiles of one colour are discharged at a time.  So the heights at
the ends of all arcs that leave the tile are constant, and only this block modifies these arcs.  Between two barriers
each thread takes STEPS_PER_BARRIER steps without synchronising, so it may read a height that is out of date (Hong's
lock-free push-relabel).  All capacities are kept in that case too.  But a residual arc may then fall by more than one,
so heights may be invalid until the next relabeling: see "Why a fallback is needed" in tiles.py.

Shared memory: h, the heights with the halo; from w[e_at] on the excess, then the residuals, one arc after the other.

Races of discharge_kernel.  A pass discharges the listed tiles of one colour; a barrier of the grid ends it.
  h[p], in shared memory: written by the thread of p, read by the threads of its neighbours at any time.
  w: changed by atomic operations.  Only the thread of p takes from the excess of p and from the residuals of its arcs,
            so the values that it has read may be too low, but never too high.
  height    load_tile reads the halo while blocks of the same colour store their tiles.  Two colours are used if all
            arcs are parallel to an axis.  Then a tile that differs along two axes may have this tile's colour, and its
            block may be storing the entry.  `step` never reads such entries: no axis-parallel arc leads to them.
  excess[p], p in a neighbouring tile q: several blocks add to it, hence atomically.  Each sees its own value before
            the addition, so exactly one detects a change of sign.
  residual[r], the arc from q back into tile t: receive_flow loads, adds and stores without atomics.  Only one thread
            can write it: the thread of block t that stores the pixel at the arc's end, for the one arc to that place.
  bits      of tile q: changed atomically, because a word has the bits of 32 pixels, which several blocks may change.
            The owner's plain stores do not race with these: no block adds to q while a block discharges q.
  flags[t]  thread 0 of the block of t stores 0, without atomics.  `enqueue` exchanges flags[q] in the same pass only
            for tiles q of other colours, and for t in that same thread, later.
  counts[slot], lists: colour c has three lists, for sweeps s, s + 1 and s + 2 (modulo 3).  A colour without tiles has
            no barrier, so while a slow block still reads lengths of sweep s, fast blocks may be in sweep s + 1.  These
            append to lists of sweeps s + 1 and s + 2 only.  After the barrier of the pass (c, s) the leader clears the
            length of that list.  It is used again for sweep s + 3, to which blocks append from sweep s + 2 on.
            Sweep s + 1 has at least one barrier, else the kernel ends; the leader arrives there after it has cleared
            the length.  With two lists, blocks could append in sweep s + 1, possibly before the length is cleared.
  counts[STOP], counts[STOP + 1]: the leader stores its decision before the barrier of a pass, and the blocks read it
            after that barrier.  The next pass uses the other slot, so the leader stores here again only after another
            barrier, at which all blocks have read the first decision.
"""

import numpy as np

from gridcut.device.cuda import ballot, cuda, device_function, opaque
from gridcut.tiles.tile_search import ALL, FIRST, NONE, UNREACHABLE, side
from gridcut.tiles.tile_state import LIST_LENGTHS

PIXELS = 1024
WIDTH = 34  # entries per row of h
STEPS_PER_BARRIER = 8  # steps of each pixel between two barriers of the block


@device_function
def tile_coordinates(t, tiles):
    """Coordinates (z, y, x) of tile t in its image."""
    ix = t % tiles[2]
    rest = t // tiles[2]
    return np.int32(rest // tiles[1] % tiles[0]), np.int32(rest % tiles[1]), np.int32(ix)


@device_function
def tile_at(iz, iy, ix, sz, sy, sx, tiles, first):
    """Index of tile (iz + sz, iy + sy, ix + sx) of the image whose first tile is `first`; -1 outside the image."""
    z, y, x = iz + sz, iy + sy, ix + sx
    if z < 0 or z >= tiles[0] or y < 0 or y >= tiles[1] or x < 0 or x >= tiles[2]:
        return -1
    return first + (z * tiles[1] + y) * tiles[2] + x


@device_function
def enqueue(t, slot, queued, lists, counts, n):
    """Append tile t to the list of `slot`, unless queued[t] is 1: then it is in a list already, or a ghost tile."""
    if cuda.atomic.exch(queued, t, np.int32(1)) == 0:
        position = cuda.atomic.add(counts, slot, np.int32(1))
        lists[np.uint64((slot - LIST_LENGTHS) * n + position)] = t


@device_function
def slot_of(colour, current, sweep):
    """Slot of the list for a tile that is activated while colour `current` is discharged.

    Each colour has three lists, used in rotation: one is being read, one is being filled, one has just been emptied.
    """
    return LIST_LENGTHS + colour * 3 + (sweep if colour > current else sweep + 1) % 3


@device_function
def colour_of(iz, iy, ix, diagonal):
    """Colour of a tile; tiles joined by an arc differ.  2 colours for axis-parallel arcs, else by parity of z, y, x."""
    if diagonal:
        return (iz & 1) * 4 + (iy & 1) * 2 + (ix & 1)
    return (iz + iy + ix) & 1


@device_function
def height_index(p, tile, halo):
    """Index of pixel p of the tile in h."""
    row = np.int32(p >> 5)
    return np.int32(
        ((row // tile[1] + halo[0]) * (tile[1] + 2 * halo[1]) + row % tile[1] + halo[1]) * WIDTH + (p & 31) + 1
    )


@device_function
def leaving(p, tile, arcs, offsets):
    """Bit k is set if arc k of pixel p leaves the tile."""
    row = p >> 5
    y, z, x = row % tile[1], row // tile[1], p & 31
    bits = NONE
    for k in range(arcs):
        dz, dy, dx = offsets[k, 0], offsets[k, 1], offsets[k, 2]
        if side(z + dz, tile[0]) != 0 or side(y + dy, tile[1]) != 0 or side(x + dx, 32) != 0:
            bits = np.uint32(bits | (FIRST << np.uint32(k)))
    return bits


# args: a step of the discharge, split off for reading: it takes what that has in its variables
@device_function
def load_tile(t, first, iz, iy, ix, tiles, tile, halo, arcs, excess, residual, height, h, w, e_at):
    """Load a tile and the heights of its halo into shared memory."""
    threads = cuda.blockDim.x
    rows, depth = tile[1] + 2 * halo[1], tile[0] + 2 * halo[0]
    i = opaque(cuda.threadIdx.x)
    while i < depth * rows * WIDTH:
        x = i % WIDTH - 1
        y = i // WIDTH % rows - halo[1]
        z = i // (WIDTH * rows) - halo[0]
        sz, sy, sx = side(z, tile[0]), side(y, tile[1]), side(x, 32)
        q = tile_at(iz, iy, ix, sz, sy, sx, tiles, first)
        value = np.int32(UNREACHABLE)
        if q >= 0:
            row = (z - sz * tile[0]) * tile[1] + y - sy * tile[1]
            value = height[np.uint64((q * 32 + row) * 32 + x - sx * 32)]
        h[np.uint32(i)] = value
        i = np.int32(i + threads)
    i = opaque(cuda.threadIdx.x)
    while i < PIXELS:
        w[np.uint32(e_at + i)] = excess[np.uint64(t * PIXELS + i)]
        for k in range(arcs):
            w[np.uint32(e_at + (k + 1) * PIXELS + i)] = residual[np.uint64((t * arcs + k) * PIXELS + i)]
        i = np.int32(i + threads)


@device_function
def step(p, at, outside, arcs, steps_to, deltas, may_relabel, h, w, e_at):
    """Push the excess of pixel p to its lowest neighbour, or relabel p; 1 if either was done.

    With e_at, w starts with the excesses of the tile, at 0, followed by the residuals of arc k, at (k + 1) * PIXELS.
    For the chosen arc k, `over` is the start of its residuals.  `back` is the start of those of the opposite arc, plus
    the step to the neighbour q: so back + p is the entry of q there, and its remainder modulo PIXELS, a power of two,
    is q.  It is -1 if q is in another tile, which receives the flow later.
    """
    left = w[np.uint32(e_at + p)]
    if left <= 0:
        return 0
    here = h[np.uint32(at)]
    if here >= UNREACHABLE:
        return 0
    lowest = np.int32(UNREACHABLE)
    most = left
    over = np.int32(0)
    back = np.int32(-1)
    for k in range(arcs):
        there = h[np.uint32(at + deltas[k])]
        space = w[np.uint32(e_at + (k + 1) * PIXELS + p)]
        if space > 0 and there < lowest:
            lowest = there
            most = space
            over = np.int32((k + 1) * PIXELS)
            back = np.int32(((k ^ 1) + 1) * PIXELS + steps_to[k])
            if (outside >> np.uint32(k)) & FIRST != NONE:
                back = np.int32(-1)
    if here <= lowest:
        if may_relabel == 0:
            return 0
        h[np.uint32(at)] = min(lowest + 1, UNREACHABLE)
        return 1
    amount = min(left, most)
    cuda.atomic.sub(w, np.uint32(e_at + p), amount)
    cuda.atomic.sub(w, np.uint32(e_at + over + p), amount)
    if back >= 0:
        cuda.atomic.add(w, np.uint32(e_at + back + p), amount)
        cuda.atomic.add(w, np.uint32(e_at + ((back + p) & (PIXELS - 1))), amount)
    return 1


@device_function
def discharge(tile, halo, arcs, offsets, steps_to, deltas, max_barriers, may_relabel, per, h, w, e_at):
    """Take steps of all pixels until none can step, at most max_barriers * STEPS_PER_BARRIER; 0 if none can step.

    may_relabel: 0 if pixels may only push;  per: pixels per thread, one or two of which are kept in registers.
    """
    threads = cuda.blockDim.x
    p = opaque(cuda.threadIdx.x)
    at = height_index(p, tile, halo)
    out = leaving(p, tile, arcs, offsets)
    p2 = np.int32(p + threads)
    at2 = height_index(p2, tile, halo)
    out2 = leaving(p2, tile, arcs, offsets)
    busy = 1
    barriers = 0
    while busy != 0 and barriers < max_barriers:
        busy = 0
        i = 0
        while i < STEPS_PER_BARRIER:
            busy |= step(p, at, out, arcs, steps_to, deltas, may_relabel, h, w, e_at)
            if per >= 2:
                busy |= step(p2, at2, out2, arcs, steps_to, deltas, may_relabel, h, w, e_at)
            if per > 2:
                q = np.int32(p2 + threads)
                while q < PIXELS:
                    q_out = leaving(q, tile, arcs, offsets)
                    busy |= step(q, height_index(q, tile, halo), q_out, arcs, steps_to, deltas, may_relabel, h, w, e_at)
                    q = np.int32(q + threads)
            i += 1
        busy = cuda.syncthreads_or(busy)
        barriers += 1
    return busy


@device_function
def receive_flow(q, k, row, x, amount, arcs, excess, residual, bits):
    """Add flow from another tile to pixel (row, x) of tile q and its residual of arc k; whether it has excess now."""
    bit = np.uint32(FIRST << np.uint32(x))
    words = q * (arcs + 2) * 32 + row
    before = cuda.atomic.add(excess, np.uint64((q * 32 + row) * 32 + x), amount)
    cell = np.uint64(((q * arcs + k) * 32 + row) * 32 + x)
    there = residual[cell]
    residual[cell] = there + amount
    if there == 0:
        cuda.atomic.or_(bits, np.uint64(words + k * 32), bit)
    if before < 0 and before + amount >= 0:
        cuda.atomic.and_(bits, np.uint64(words + arcs * 32), np.uint32(ALL ^ bit))
    if before <= 0 and before + amount > 0:
        cuda.atomic.or_(bits, np.uint64(words + (arcs + 1) * 32), bit)
    return before + amount > 0


# args: a step of the discharge, split off for reading: it takes what that has in its variables
@device_function
def store_tile(
    t, first, iz, iy, ix, tiles, tile, halo, arcs, offsets, excess, residual, height, bits, h, w, e_at,
    diagonal, current, sweep, queued, lists, counts, n,
):  # fmt: skip
    """Store a tile and its bits, and add the flow that left it to the neighbouring tiles."""
    threads = cuda.blockDim.x
    p = opaque(cuda.threadIdx.x)
    while p < PIXELS:
        row, x = p >> 5, p & 31
        y, z = row % tile[1], row // tile[1]
        left = w[np.uint32(e_at + p)]
        words = t * (arcs + 2) * 32 + row
        excess[np.uint64(t * PIXELS + p)] = left
        height[np.uint64(t * PIXELS + p)] = h[np.uint32(height_index(p, tile, halo))]
        for k in range(arcs):
            now = w[np.uint32(e_at + (k + 1) * PIXELS + p)]
            cell = np.uint64((t * arcs + k) * PIXELS + p)
            dz, dy, dx = offsets[k, 0], offsets[k, 1], offsets[k, 2]
            sz, sy, sx = side(z + dz, tile[0]), side(y + dy, tile[1]), side(x + dx, 32)
            if sz != 0 or sy != 0 or sx != 0:
                before = residual[cell]
                if now < before:
                    # The residual of an arc that leaves the image is always 0, so tile q exists.
                    q = tile_at(iz, iy, ix, sz, sy, sx, tiles, first)
                    q_row = (z + dz - sz * tile[0]) * tile[1] + y + dy - sy * tile[1]
                    q_x = x + dx - sx * 32
                    if receive_flow(q, k ^ 1, q_row, q_x, before - now, arcs, excess, residual, bits):
                        colour = colour_of(iz + sz, iy + sy, ix + sx, diagonal)
                        enqueue(q, slot_of(colour, current, sweep), queued, lists, counts, n)
            residual[cell] = now
            some = ballot(now > 0)
            if x == 0:
                bits[np.uint64(words + k * 32)] = some
        negative, positive = ballot(left < 0), ballot(left > 0)
        if x == 0:
            bits[np.uint64(words + arcs * 32)] = negative
            bits[np.uint64(words + (arcs + 1) * 32)] = positive
        p = np.int32(p + threads)
