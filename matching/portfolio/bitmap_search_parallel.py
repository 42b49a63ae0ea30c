"""bitmap_search on several threads, top-down: each column belongs to one of them.

Makes a matching maximum.  All threads search a level of all trees together.  Each thread scans the rows that are
matched with its own columns, and adds its own columns that are in no tree.  It sends a column of another thread to that
thread, at most once per phase; the messages are read at the end of the level.  So no two threads write to the same
bitmap or wait for the same cache lines.  Only free columns, one per tree, are claimed by an atomic operation of the
thread that finds them.

One thread searches narrow levels, and all further levels if threads spend much of the time waiting for each other.

Arrays (n rows, m columns), in addition to those of bitmap_search.py
  first_col[i]   thread i owns the columns first_col[i] to first_col[i + 1] - 1
  first_root[i]  and starts with the roots at these indices of root
  seen[i]        bitmap of thread i: its own columns that are in a tree, and the others that it has sent
  queue, tree    the entries of thread i start at first_col[i]
  messages[i, j] from thread i to thread j, in triples: column, row from which it was reached, index of the root
  col_match      TAKEN: a free column that a tree has found

Sources: those of bitmap_search.py; owners: Buluç, Madduri. "Parallel breadth-first search on distributed memory
systems." SC 2011 (one-dimensional partition).

O(n * edges), usually a few sweeps; memory of bitmap_search, 8 bytes per row and column, and 12 per column and thread.
"""

import os
import time
from typing import NamedTuple

import numpy as np

from gridcut.device import atomic_cas, atomic_load, atomic_store, kernel, run_threads
from gridcut.device.prefetch import prefetch
from matching.core.counts import AUGMENTATIONS, EDGES, PATH_LENGTH, PHASES, new_counts
from matching.forest.bitmap_search import DEFAULT_RULES, PREFETCH_DISTANCE, Trees, bit, top_down

BLOCK_BITS = 12  # columns are distributed over the threads in blocks of 2^BLOCK_BITS
PARALLEL_MIN_ROWS = 1024  # rows of a level from which all threads search it
MAX_THREADS = 3  # more gain nothing: 1.19, 1.23, 1.18 and 0.97 times as fast as one thread with 2, 3, 4 and 8
SPIN_LIMIT = 20_000  # reads of another thread's level, about 40 us, before a thread yields its core
MAX_WAIT_SECONDS, MAX_WAIT_SHARE = 3e-3, 0.35  # waiting time after which a thread gives up: seconds, share of its time
EXCHANGE_RATIO = 128  # threads read each other's bitmaps after a level with 1/128 of the columns or more
LINE_ENTRIES = 8  # int64 per cache line
HEAD, TAIL, LEVEL, WAITING, TIMED_OUT = range(5)  # state of a worker between calls
UNLIMITED, TAKEN = 2**40, -2
NO_OWNERS = np.empty(0, np.int32)
yield_processor = getattr(os, "sched_yield", lambda: time.sleep(0))


class Shared(NamedTuple):
    """Arrays that all threads read; owner[b]: the thread that owns the columns of block b.

    cells   counters, one per cache line: messages sent by i to j; levels finished by i; columns that i has found in its
            last even and in its last odd level
    abort   set when a thread has failed; the others must not wait for it (gridcut/device/threads.py)
    """

    first_col: np.ndarray
    owner: np.ndarray
    open: np.ndarray
    parent: np.ndarray
    root: np.ndarray
    leaf: np.ndarray
    queue: np.ndarray
    tree: np.ndarray
    messages: np.ndarray
    cells: np.ndarray
    abort: np.ndarray


@kernel
def read_messages(i, shared, seen, read, tail):
    """Add the columns that other threads have sent; returns the new end of the queue."""
    threads = shared.first_col.size - 1
    for s in range(threads):
        end = atomic_load(shared.cells, (s * threads + i) * LINE_ENTRIES)
        buffer = shared.messages[s, i]
        for a in range(3 * read[s], 3 * end, 3):
            prefetch(shared.parent, buffer[min(a + 3 * PREFETCH_DISTANCE, 3 * end - 3)])
            c, k = np.int64(buffer[a]), buffer[a + 2]
            word, mask = bit(c)
            if seen[word] & mask == 0 and atomic_load(shared.leaf, k) < 0:
                seen[word] |= mask
                shared.parent[c] = buffer[a + 1]
                shared.queue[tail] = c
                shared.tree[tail] = k
                tail += 1
        read[s] = end
    return tail


@kernel
def search_level(row_ptr, row_adj, col_match, i, shared, seen, sent, source, head, edge, tail, counts):
    """Scan source[head:edge], the roots or the columns of the queue; returns the new end of the queue.

    sent   number of messages to each thread
    """
    first, last = shared.first_col[i], shared.first_col[i + 1]
    open, parent, leaf, queue, tree = shared.open, shared.parent, shared.leaf, shared.queue, shared.tree
    at_roots = source.ctypes.data == shared.root.ctypes.data
    fetched = edge if at_roots else head
    mated = head
    edges = 0
    while head < edge:
        end = min(edge, head + 3 * PREFETCH_DISTANCE)
        while fetched < end:
            prefetch(col_match, queue[fetched])
            fetched += 1
        end = min(edge, head + 2 * PREFETCH_DISTANCE)
        while mated < end:
            if not at_roots:
                queue[mated] = col_match[queue[mated]]
            prefetch(row_ptr, source[mated])
            mated += 1
        if head + PREFETCH_DISTANCE < mated:
            prefetch(row_adj, row_ptr[source[head + PREFETCH_DISTANCE]])
        k = head if at_roots else np.int64(tree[head])
        if atomic_load(leaf, k) < 0:
            r = np.int64(source[head])
            for a in range(row_ptr[r], row_ptr[r + 1]):
                edges += 1
                c = np.int64(row_adj[a])
                word, mask = bit(c)
                if seen[word] & mask == 0:
                    seen[word] |= mask
                    if open[word] & mask:
                        if atomic_cas(col_match, c, -1, TAKEN) == -1:
                            parent[c] = r
                            if atomic_cas(leaf, k, -1, c) != -1:
                                atomic_store(col_match, c, -1)
                            break
                    elif first <= c < last:
                        parent[c] = r
                        queue[tail] = c
                        tree[tail] = k
                        tail += 1
                    else:
                        to = shared.owner[c >> BLOCK_BITS]
                        b = 3 * sent[to]
                        buffer = shared.messages[i, to]
                        buffer[b] = c
                        buffer[b + 1] = r
                        buffer[b + 2] = k
                        sent[to] += 1
        head += 1
    counts[EDGES] += edges
    return tail


@kernel
def run_levels(row_ptr, row_adj, col_match, i, shared, seen, read, sent, state, from_roots, wide, counts):
    """Thread i's part of all levels, from source[state[HEAD]:state[TAIL]], until one has fewer than `wide` rows.

    A thread with state[TIMED_OUT] reports a large negative number of rows, which ends the loop in all threads.
    Returns False if another thread does not finish its level within SPIN_LIMIT reads; then call it again.
    """
    threads, cells = shared.first_col.size - 1, shared.cells
    own = seen[i]
    done = threads * threads
    head, tail, level = state[HEAD], state[TAIL], state[LEVEL]
    while True:
        if state[WAITING] == 0:
            before = sent.sum()
            if from_roots and level == 0:
                edge = shared.first_col[i]
                tail = search_level(
                    row_ptr, row_adj, col_match, i, shared, own, sent, shared.root, head, tail, edge, counts
                )
            else:
                edge = tail
                tail = search_level(
                    row_ptr, row_adj, col_match, i, shared, own, sent, shared.queue, head, edge, tail, counts
                )
            head = edge
            for s in range(threads):
                atomic_store(cells, (i * threads + s) * LINE_ENTRIES, sent[s])
            level += 1
            new = tail - edge + sent.sum() - before - state[TIMED_OUT] * UNLIMITED
            atomic_store(cells, (done + (1 + level % 2) * threads + i) * LINE_ENTRIES, new)
            atomic_store(cells, (done + i) * LINE_ENTRIES, level)
        spins, behind = 0, 0
        while behind < threads:
            if atomic_load(cells, (done + behind) * LINE_ENTRIES) >= level:
                behind += 1
                continue
            spins += 1
            if spins > SPIN_LIMIT:
                state[HEAD], state[TAIL], state[LEVEL], state[WAITING] = head, tail, level, 1
                return False
        state[WAITING] = 0
        # All threads compute the same sum, as no thread can be two levels in advance of another.
        new = 0
        for s in range(threads):
            new += atomic_load(cells, (done + (1 + level % 2) * threads + s) * LINE_ENTRIES)
        tail = read_messages(i, shared, own, read, tail)
        if new * EXCHANGE_RATIO > col_match.size:
            # Columns that their owners have already found need not be sent.
            for s in range(threads):
                if s != i:
                    for word in range(shared.first_col[s] >> 6, (shared.first_col[s + 1] + 63) >> 6):
                        own[word] |= seen[s, word]
        if new < wide:
            state[HEAD], state[TAIL] = head, tail
            return True


@kernel
def gather_queues(shared, seen, states, number, trees):
    """Concatenate the queues of all threads in `trees`, where one thread continues; returns the end of its queue."""
    tail = 0
    for i in range(states.shape[0]):
        for a in range(states[i, HEAD], states[i, TAIL]):
            trees.queue[tail] = shared.queue[a]
            trees.tree[tail] = shared.tree[a]
            tail += 1
        first, last = shared.first_col[i], shared.first_col[i + 1]
        for word in range(first >> 6, (last + 63) >> 6):
            trees.seen[word] = seen[i, word]
    for k in range(number):
        if trees.leaf[k] >= 0:
            word, mask = bit(np.int64(trees.leaf[k]))
            trees.seen[word] |= mask
    return tail


@kernel
def scatter_queues(shared, seen, states, row_match, head, mated, tail, trees):
    """Distribute the frontier of `trees` to the queues of the threads that own its columns."""
    for i in range(states.shape[0]):
        states[i, HEAD] = states[i, TAIL]
        seen[i] = trees.seen
    for a in range(head, tail):
        c = trees.queue[a] if a >= mated else row_match[trees.queue[a]]
        i = shared.owner[c >> BLOCK_BITS]
        shared.queue[states[i, TAIL]] = c
        shared.tree[states[i, TAIL]] = trees.tree[a]
        states[i, TAIL] += 1


@kernel
def make_roots_part(row_ptr, row_match, col_match, first_row, last_row, i, shared):
    """Mark thread i's free columns, and list the free rows in [first_row, last_row) at root[first_row:].

    Returns the numbers of rows and columns.
    """
    free = 0
    for c in range(shared.first_col[i], shared.first_col[i + 1]):
        if col_match[c] < 0:
            word, mask = bit(c)
            shared.open[word] |= mask
            free += 1
    end = first_row
    for r in range(first_row, last_row):
        if row_match[r] < 0 and row_ptr[r] < row_ptr[r + 1]:
            shared.root[end] = r
            end += 1
    return end - first_row, free


@kernel
def augment_part(row_match, col_match, i, shared, first, last, number, counts):
    """Augment along the paths of the trees [first, last) and remove their roots; returns the number of roots left.

    Also mark thread i's columns among the leaves of all trees as no longer free.
    """
    open, parent, root, leaf = shared.open, shared.parent, shared.root, shared.leaf
    for k in range(number):
        c = np.int64(leaf[k])
        if shared.first_col[i] <= c < shared.first_col[i + 1]:
            word, mask = bit(c)
            open[word] ^= mask
    end = first
    length = 0
    for k in range(first, last):
        ahead = leaf[min(k + 2 * PREFETCH_DISTANCE, last - 1)]
        if ahead >= 0:
            prefetch(parent, ahead)
            prefetch(col_match, ahead)
        ahead = leaf[min(k + PREFETCH_DISTANCE, last - 1)]
        if ahead >= 0:
            prefetch(row_match, parent[ahead])
        c = np.int64(leaf[k])
        if c < 0:
            root[end] = root[k]
            end += 1
            continue
        length -= 1
        while c >= 0:
            r = parent[c]
            before = np.int64(row_match[r])
            row_match[r] = c
            col_match[c] = r
            length += 2
            c = before
    counts[PATH_LENGTH] += length
    counts[AUGMENTATIONS] += last - end
    return end - first


def shared_arrays(n, m, threads) -> Shared:
    first_col = np.array([*((m * i // threads) >> BLOCK_BITS << BLOCK_BITS for i in range(threads)), m])
    owner = np.searchsorted(first_col[:-1], np.arange((m >> BLOCK_BITS) + 1) << BLOCK_BITS, side="right") - 1
    return Shared(
        first_col,
        owner,
        np.zeros((m >> 6) + 1, np.uint64),
        *(np.empty(size, np.int32) for size in (m, n, n, m, m)),
        np.empty((threads, threads, 3 * int(np.diff(first_col).max())), np.int32),
        np.zeros((threads + 3) * threads * LINE_ENTRIES, np.int64),
        np.zeros(1, np.int64),
    )


def search_parallel(row_ptr, row_adj, row_match, col_match, counts, budget, threads, wide=PARALLEL_MIN_ROWS) -> bool:
    """Run phases until the matching is maximum, or more than `budget` edges were scanned; whether it is maximum."""
    n, m = len(row_match), len(col_match)
    threads = min(threads, MAX_THREADS)
    shared = shared_arrays(n, m, threads)
    words = len(shared.open)
    seen = np.empty((threads, words), np.uint64)
    narrow = Trees(np.empty(words, np.uint64), *shared[2:6], np.empty(n + m, np.int32), np.empty(n + m, np.int32))
    looked = [new_counts() for _ in range(threads)]
    first = partition(n, threads)
    roots_and_free = run_threads(
        lambda i: make_roots_part(row_ptr, row_match, col_match, first[i], first[i + 1], i, shared), threads
    )
    number = close_gaps(shared.root, first, [roots for roots, _ in roots_and_free])
    free = sum(number for _, number in roots_and_free)
    found = 1
    while number > 0 and free > 0 and found > 0:
        if sum(int(part[EDGES]) for part in looked) > budget:
            break
        counts[PHASES] += 1
        first = partition(number, threads)
        shared.leaf[:number] = -1
        wide = grow(row_ptr, row_adj, row_match, col_match, shared, seen, narrow, first, wide, looked)
        left = run_threads(
            lambda i, first=first, number=number: augment_part(
                row_match, col_match, i, shared, first[i], first[i + 1], number, looked[i]
            ),
            threads,
        )
        found = number - sum(left)
        free -= found
        number = close_gaps(shared.root, first, left)
    for part in looked:
        counts += part
    return not (number > 0 and free > 0 and found > 0)


def partition(number: int, threads: int) -> list[int]:
    """Boundaries of the equal parts of range(number), one part per thread."""
    return [number * i // threads for i in range(threads + 1)]


def close_gaps(array, first, lengths) -> int:
    """Make the entries array[first[i] : first[i] + lengths[i]] of all i contiguous; returns their number."""
    end = 0
    for begin, length in zip(first, lengths, strict=False):
        array[end : end + length] = array[begin : begin + length]
        end += length
    return end


def grow(row_ptr, row_adj, row_match, col_match, shared, seen, narrow, first, wide, looked):
    """Grow the trees of one phase: wide levels on all threads, narrow ones on this; returns the new value of `wide`."""
    threads, number = len(first) - 1, first[-1]
    states = np.zeros((threads, 8), np.int64)
    from_roots = number >= wide
    seen.fill(0)
    if from_roots:
        states[:, HEAD], states[:, TAIL] = first[:-1], first[1:]
    else:
        states[:, HEAD] = states[:, TAIL] = shared.first_col[:-1]
        narrow.seen.fill(0)
        narrow.queue[:number] = narrow.root[:number]
        narrow.tree[:number] = np.arange(number)
        mated = tail = number
    while True:
        if from_roots or number == 0:
            shared.cells[:] = 0
            states[:, LEVEL:TIMED_OUT] = 0
            run_threads(
                lambda i, from_roots=from_roots, wide=wide: run_worker(
                    row_ptr, row_adj, col_match, i, shared, seen, states[i], from_roots, wide, looked[i]
                ),
                threads,
                shared.abort,
            )
            if states[:, TIMED_OUT].any():
                wide = UNLIMITED
            mated, tail = 0, gather_queues(shared, seen, states, first[-1], narrow)
        head, mated, tail = top_down(
            row_ptr, row_adj, col_match, 0, mated, tail, NO_OWNERS, narrow, looked[0], 2 * wide, DEFAULT_RULES.alpha
        )
        if head == tail:
            return wide
        scatter_queues(shared, seen, states, row_match, head, mated, tail, narrow)
        from_roots, number = False, 0


def run_worker(row_ptr, row_adj, col_match, i, shared, seen, state, from_roots, wide, counts):
    """Run thread i: search wide levels, and yield the core while other threads are late."""
    read, sent = np.zeros((2, len(shared.first_col) - 1), np.int64)
    begin = last = time.perf_counter()
    waited, level = 0.0, -1
    while not run_levels(row_ptr, row_adj, col_match, i, shared, seen, read, sent, state, from_roots, wide, counts):
        if shared.abort[0]:
            return
        now = time.perf_counter()
        if state[LEVEL] == level:
            waited += now - last
            if waited > MAX_WAIT_SECONDS and waited > MAX_WAIT_SHARE * (now - begin):
                state[TIMED_OUT] = 1
        last, level = now, state[LEVEL]
        yield_processor()
