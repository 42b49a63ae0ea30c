"""Discharge one tile with one thread block, in shared memory.

    load_tile    load excess, residuals, and the heights of the tile and of its halo, one pixel wide
    discharge    the active pixels, repeatedly: relabel, and push to the lowest neighbour (Łupińska, algorithm 4.5)
    store_tile   store everything, and add the flow that left the tile to the neighbouring tiles

Tiles joined by an arc have different colours, and only tiles of one colour are discharged at a time.  So the heights at
the ends of all arcs that leave the tile are constant, and only this block modifies these arcs.  Between two barriers
each thread takes STEPS_PER_BARRIER steps without synchronising, so it may read a height that is out of date (Hong's
lock-free push-relabel).  All capacities are kept in that case too.  But a residual arc may then fall by more than one,
so heights may be invalid until the next relabeling: see "Why a fallback is needed" in tiles.py.

Only few of the pixels of a tile have excess, so threads do not belong to pixels.  Every active pixel, one with excess
that can still move, is held by one thread or is in one list.  A push that makes a pixel active gives it to the pushing
thread, which goes on with it if that push has emptied its own pixel, and appends it to the next list otherwise.
After STEPS_PER_BARRIER steps a thread appends its pixel to the next list, and takes one of that list after a barrier.

Shared memory
  h[0]         the heights with the halo, as entries: twice the height, plus 1 in the halo.  So the entry at the end of
               an arc tells whether the arc leaves the tile
  w[e_at]      the excess, then the residuals, one arc after the other, and two words for pushes that leave the tile
  h[list_at]   the lengths of three lists, used in rotation, then the pixels of two lists: list i of the three and list
               i + 1 are in use between two barriers, and the length of list i + 2 is cleared

Races of discharge_kernel.  A pass discharges the listed tiles of one colour; a barrier of the grid ends it.
  h[p], in shared memory: written by the thread that holds p, read by those of its neighbours at any time.
  w: changed by atomic operations.  Only the thread that holds p takes from the excess of p and from the residuals of
            its arcs, so the values that it has read may be too low, but never too high.  The thread whose addition
            makes the excess of p positive is the next to hold p.  Before, the last one has taken all excess, its last
            access to p; a fence precedes it and another one follows the addition, so that all changes are seen.
  height    load_tile reads the halo while blocks of the same colour store their tiles.  Two colours are used if all
            arcs are parallel to an axis.  Then a tile that differs along two axes may have this tile's colour, and its
            block may be storing the entry.  `walk` never uses such entries: no axis-parallel arc leads to them.
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

from typing import NamedTuple

import numpy as np

from gridcut.device.cuda import ballot, count_trailing_zeros, cuda, device_function, opaque, popcount, shuffle
from gridcut.tiles.tile_search import ALL, FIRST, NONE, UNREACHABLE, side
from gridcut.tiles.tile_state import LIST_LENGTHS

PIXELS = 1024
WIDTH = 34  # entries per row of h
STEPS_PER_BARRIER = 8  # steps of each active pixel between two barriers of the block
# The entry of UNREACHABLE.  Heights from 2**29 on count as UNREACHABLE here: a solve would not end if a shortest path
# to the sink had half a billion pixels.
BLOCKED = 1 << 30
LENGTHS = 4  # words from h[list_at] on, before both lists of active pixels: three lengths, and one that is not used
LIST_WORDS = LENGTHS + 2 * PIXELS


@device_function
def tile_coordinates(t, tiles):
    """Coordinates (z, y, x) of tile t in its image."""
    rest = np.uint32(t) // np.uint32(tiles[2])
    layer = rest // np.uint32(tiles[1])
    return (
        np.int32(layer % np.uint32(tiles[0])),
        np.int32(rest - layer * np.uint32(tiles[1])),
        np.int32(np.uint32(t) - rest * np.uint32(tiles[2])),
    )


@device_function
def tile_at(iz, iy, ix, sz, sy, sx, tiles, first):
    """Index of tile (iz + sz, iy + sy, ix + sx) of the image whose first tile is `first`; -1 outside the image."""
    z, y, x = np.int32(iz + sz), np.int32(iy + sy), np.int32(ix + sx)
    if z < 0 or z >= tiles[0] or y < 0 or y >= tiles[1] or x < 0 or x >= tiles[2]:
        return np.int32(-1)
    return np.int32(first + np.int32(np.int32(z * tiles[1] + y) * tiles[2] + x))


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
def place_of(p, tile):
    """Coordinates (z, y, x) of pixel p of a tile."""
    row = np.uint32(p) >> np.uint32(5)
    z = row // np.uint32(tile[1])
    return np.int32(z), np.int32(row - z * np.uint32(tile[1])), np.int32(np.uint32(p) & np.uint32(31))


@device_function
def height_index(p, tile, halo):
    """Index of pixel p of the tile in h."""
    z, y, x = place_of(p, tile)
    row = np.int32((z + np.int32(halo[0])) * np.int32(tile[1] + 2 * halo[1]))
    return np.int32((row + y + np.int32(halo[1])) * np.int32(WIDTH) + x + np.int32(1))


@device_function
def entry_of(level):
    """The entry of h for a height, of a pixel in the tile."""
    return np.int32(2 * min(level, np.int32(BLOCKED // 2)))


@device_function
def height_of(entry):
    """The height of an entry of h."""
    return np.int32(UNREACHABLE if entry >= BLOCKED else entry >> 1)


# args: a step of the discharge, split off for reading: it takes what that has in its variables
@device_function
def load_tile(t, first, iz, iy, ix, tiles, tile, halo, arcs, excess, residual, height, h, w, e_at):
    """Load a tile and the heights of its halo into shared memory."""
    threads = cuda.blockDim.x
    rows = np.uint32(tile[1] + 2 * halo[1])
    lane = np.int32(cuda.threadIdx.x & 31)
    i = opaque(cuda.threadIdx.x >> 5)
    while i < (tile[0] + 2 * halo[0]) * rows:
        layer = np.int32(np.uint32(i) // rows)
        y = np.int32(i - layer * np.int32(rows) - np.int32(halo[1]))
        z = np.int32(layer - np.int32(halo[0]))
        sz, sy = side(z, tile[0]), side(y, tile[1])
        row = np.int32((z - sz * tile[0]) * tile[1] + y - sy * tile[1])
        q = tile_at(iz, iy, ix, sz, sy, 0, tiles, first)
        value = np.int32(BLOCKED)
        if q >= 0:
            value = entry_of(height[np.uint64((q * 32 + row) * 32 + lane)])
        h[np.uint32(i * WIDTH + lane + 1)] = value | (np.int32(sz) & 1) | (np.int32(sy) & 1)
        if lane == 0 or lane == 31:
            q = tile_at(iz, iy, ix, sz, sy, -1 if lane == 0 else 1, tiles, first)
            value = np.int32(BLOCKED)
            if q >= 0:
                value = entry_of(height[np.uint64((q * 32 + row) * 32 + 31 - lane)])
            h[np.uint32(i * WIDTH + (0 if lane == 0 else 33))] = value | 1
        i = np.int32(i + (threads >> 5))
    i = opaque(cuda.threadIdx.x)
    while i < PIXELS:
        w[np.uint32(e_at + i)] = excess[np.uint64(t * PIXELS + i)]
        for k in range(arcs):
            w[np.uint32(e_at + (k + 1) * PIXELS + i)] = residual[np.uint64((t * arcs + k) * PIXELS + i)]
        i = np.int32(i + threads)


@device_function
def append_pixels(p, lane, which, length, h, list_at):
    """Append the pixels of the lanes with p >= 0 to list `which`, 0 or 1; all lanes of the warp take part.

    length: which of the three lengths is that of the list.
    """
    some = ballot(p >= 0)
    if some != NONE:
        position = np.int32(0)
        leader = count_trailing_zeros(some)
        if lane == leader:
            position = cuda.atomic.add(h, np.uint32(list_at + length), popcount(some))
        position = shuffle(position, leader) + popcount(np.uint32(some & ((FIRST << np.uint32(lane)) - FIRST)))
        if p >= 0:
            h[np.uint32(list_at + LENGTHS + which * PIXELS + position)] = p


# args: a step of the discharge, split off for reading: it takes what that has in its variables
@device_function
def walk(p, tile, halo, arcs, steps_to, deltas, may_relabel, h, w, e_at, list_at, which, length):
    """Take steps of the active pixel p and of those that all its excess moves to; the pixel held then, or -1.

    `over` is the start of the residuals of the chosen arc.  `back` is the start of those of the opposite arc, plus the
    step to the neighbour q: so back + p is the entry of q there, and its remainder modulo PIXELS, a power of two, is q.
    store_tile adds pushes to other tiles there; here they go to scratch words, to save a branch.
    """
    at = height_index(p, tile, halo)
    scratch = np.int32(e_at + (arcs + 1) * PIXELS)
    i = np.int32(0)
    while i < STEPS_PER_BARRIER:
        i = np.int32(i + 1)
        left = w[np.uint32(e_at + p)]
        here = h[np.uint32(at)]
        lowest = np.int32(BLOCKED)
        most = left
        over = np.int32(0)
        back = np.int32(0)
        change = np.int32(0)
        for k in range(arcs):
            there = h[np.uint32(at + deltas[k])]
            space = w[np.uint32(e_at + (k + 1) * PIXELS + p)]
            better = (space > 0) & (there < lowest)  # of equal heights, those in the tile: their flow goes on at once
            lowest = there if better else lowest
            most = space if better else most
            over = np.int32((k + 1) * PIXELS) if better else over
            change = np.int32(deltas[k]) if better else change
            back = np.int32(((k ^ 1) + 1) * PIXELS + steps_to[k]) if better else back
        inside = lowest & 1 == 0
        lifted = np.int32((lowest | 1) + 1) if here <= lowest else here
        if may_relabel == 0:
            lifted = np.int32(BLOCKED) if here <= lowest else here
        else:
            h[np.uint32(at)] = lifted
        if lifted >= BLOCKED:
            return np.int32(-1)  # its excess stays positive, so no push makes it active again
        q = np.int32((back + p) & (PIXELS - 1))
        amount = min(left, most)
        cuda.atomic.sub(w, np.uint32(e_at + over + p), amount)
        cuda.atomic.add(w, np.uint32(e_at + back + p if inside else scratch), amount)
        cuda.threadfence_block()
        emptied = cuda.atomic.sub(w, np.uint32(e_at + p), amount) == amount
        before = cuda.atomic.add(w, np.uint32(e_at + q if inside else scratch + 1), amount)
        cuda.threadfence_block()
        woken = inside & (before <= 0) & (before + amount > 0)
        if woken & (not emptied):
            position = cuda.atomic.add(h, np.uint32(list_at + length), np.int32(1))
            h[np.uint32(list_at + LENGTHS + which * PIXELS + position)] = q
        if emptied:
            if not woken:
                return np.int32(-1)
            p = q
            at = np.int32(at + change)
    return p


@device_function
def discharge(tile, halo, arcs, steps_to, deltas, max_barriers, may_relabel, h, w, e_at, list_at):
    """Take steps of the active pixels until there are none, at most max_barriers times STEPS_PER_BARRIER.

    may_relabel: 0 if pixels may only push.  Returns the number of active pixels left.
    """
    threads = cuda.blockDim.x
    tid = np.int32(cuda.threadIdx.x)
    lane = np.int32(tid & 31)
    if tid < LENGTHS:
        h[np.uint32(list_at + tid)] = 0
    cuda.syncthreads()
    p = opaque(cuda.threadIdx.x)
    while p < PIXELS:
        active = (w[np.uint32(e_at + p)] > 0) & (h[np.uint32(height_index(p, tile, halo))] < BLOCKED)
        append_pixels(p if active else np.int32(-1), lane, 0, 0, h, list_at)
        p = np.int32(p + threads)
    cuda.syncthreads()
    now, following, spare = np.int32(0), np.int32(1), np.int32(2)
    which = np.int32(0)
    barriers = 0
    waiting = h[np.uint32(list_at)]
    while waiting > 0 and barriers < max_barriers:
        if tid == 0:
            h[np.uint32(list_at + spare)] = 0
        i = tid
        while i - lane < waiting:
            p = np.int32(-1)
            if i < waiting:
                p = h[np.uint32(list_at + LENGTHS + which * PIXELS + i)]
                p = walk(
                    p, tile, halo, arcs, steps_to, deltas, may_relabel, h, w, e_at, list_at, which ^ 1,
                    following,
                )  # fmt: skip
            append_pixels(p, lane, which ^ 1, following, h, list_at)
            i = np.int32(i + threads)
        cuda.syncthreads()
        which = np.int32(which ^ 1)
        free = now
        now = following
        following = spare
        spare = free
        waiting = h[np.uint32(list_at + now)]
        barriers += 1
    return waiting


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
        row = p >> 5
        z, y, x = place_of(p, tile)
        left = w[np.uint32(e_at + p)]
        words = t * (arcs + 2) * 32 + row
        excess[np.uint64(t * PIXELS + p)] = left
        height[np.uint64(t * PIXELS + p)] = height_of(h[np.uint32(height_index(p, tile, halo))])
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


# The constants that the kernels of `tiles` are compiled for: neighbourhood, tile, and arrays derived from them.


class Shape(NamedTuple):
    """What the kernels are compiled for."""

    offsets: tuple  # arcs as steps (z, y, x)
    tile: tuple  # pixels of a tile along z, y, x
    wide: bool  # excess and residuals are int64

    @property
    def arcs(self) -> int:
        return len(self.offsets)

    @property
    def is_diagonal(self) -> bool:
        """Whether an arc is not parallel to an axis."""
        return any(np.count_nonzero(o) > 1 for o in self.offsets)

    @property
    def colours(self) -> int:
        """Number of colours of tiles; see `colour_of`."""
        return 8 if self.is_diagonal else 2

    @property
    def lists(self) -> int:
        """Number of lists of tiles: three per colour."""
        return 3 * self.colours

    @property
    def halo(self) -> tuple[int, int]:
        """Width of the halo of a tile along z and y, in pixels."""
        return tuple(max(abs(o[axis]) for o in self.offsets) for axis in (0, 1))

    @property
    def height_words(self) -> int:
        """int32 words for the heights of a tile and its halo, an even number."""
        (depth, rows, _), halo = self.tile, self.halo
        words = (depth + 2 * halo[0]) * (rows + 2 * halo[1]) * WIDTH
        return words + words % 2

    @property
    def excess_start(self) -> int:
        """Index of the first excess in shared memory, after the heights."""
        return self.height_words // (2 if self.wide else 1)

    @property
    def shared_bytes(self) -> int:
        """Bytes of dynamic shared memory per block of discharge_kernel."""
        return 4 * (self.list_start + LIST_WORDS)

    @property
    def list_start(self) -> int:
        """Index of the lists of active pixels in shared memory."""
        return self.height_words + (2 if self.wide else 1) * (PIXELS * (1 + self.arcs) + 2)

    @property
    def offset_array(self) -> np.ndarray:
        return np.array(self.offsets, np.int32)

    @property
    def pixel_steps(self) -> np.ndarray:
        """For each arc, the difference of pixel indices within the tile."""
        return (self.offset_array @ [self.tile[1] * 32, 32, 1]).astype(np.int32)

    @property
    def height_steps(self) -> np.ndarray:
        """For each arc, the difference of indices in the heights with their halo."""
        return (self.offset_array @ [(self.tile[1] + 2 * self.halo[1]) * WIDTH, WIDTH, 1]).astype(np.int32)

    @property
    def leaving(self) -> np.ndarray:
        """Arcs (row, k) that leave the tile in depth or height."""
        depth, rows, _ = self.tile
        found = [
            (row, k)
            for row in range(32)
            for k, (dz, dy, _) in enumerate(self.offsets)
            if not (0 <= row // rows + dz < depth and 0 <= row % rows + dy < rows)
        ]
        # Constant memory cannot hold empty arrays.  Reading one arc too many is safe: where arc 0 of row 0 is residual,
        # it offers the current height at its end plus 1, an upper bound of the height, like any arc that leaves a tile.
        return np.array(found or [(0, 0)] * 2, np.int32)

    @property
    def face_rows(self) -> np.ndarray:
        """The rows of `leaving`."""
        return np.unique(self.leaving[:, 0])

    @property
    def sides(self) -> np.ndarray:
        """The sides of the tile that arcs cross, as signs (z, y, x)."""
        found = {tuple(int(i) for i in np.sign(o) * keep) for o in self.offsets for keep in np.ndindex(2, 2, 2)}
        return np.array(sorted(found - {(0, 0, 0)}), np.int32)
