"""The set S of active nodes as a lock-free queue shared by threads, with many writers and many readers.

A node is inserted exactly when a push raises its excess from 0 to 1.  The thread that removes the node operates on it
until its excess is 0.  So a node is never in the queue twice, nor held by two threads, and a ring with one slot per
node cannot overflow.

A thread may be suspended after it reserved a slot and before it fills it, while other threads advance around the whole
ring.  Therefore each slot stores its round, and no thread fills or reads a slot in the wrong round.

Arrays, K = len(ring) + 1
  ring[ticket % len(ring)]   round * K: empty;  round * K + node + 1: filled in this round
  ends[HEAD]                 tickets taken by readers, by compare-and-swap;   ends[TAIL]  by writers, by atomic addition

Vyukov. "Bounded MPMC queue." 2010, in a form for integers.
Michael, Scott. "Simple, fast, and practical non-blocking and blocking concurrent queue algorithms." PODC 1996 (there
with a list instead of a ring).
"""

import numpy as np

from gridcut.device import atomic_add, atomic_cas, atomic_load, atomic_store, kernel

HEAD, TAIL = 0, 16  # in different cache lines
EMPTY = -1


@kernel
def put(ring, ends, node):
    """Insert a node at the tail."""
    ticket = atomic_add(ends, TAIL, 1)
    slot = ticket % len(ring)
    empty = ticket // len(ring) * (len(ring) + 1)
    while atomic_load(ring, slot) != empty:  # the reader of the previous round has not emptied the slot yet
        pass
    atomic_store(ring, slot, empty + node + 1)


@kernel
def take(ring, ends):
    """Remove and return the node at the head, or EMPTY."""
    while True:
        head = atomic_load(ends, HEAD)
        if head >= atomic_load(ends, TAIL):
            return EMPTY
        if atomic_cas(ends, HEAD, head, head + 1) == head:
            slot = head % len(ring)
            empty = head // len(ring) * (len(ring) + 1)
            found = atomic_load(ring, slot)
            while found <= empty:  # the writer has reserved the slot but not filled it yet
                found = atomic_load(ring, slot)
            atomic_store(ring, slot, empty + len(ring) + 1)
            return found - empty - 1


@kernel
def put_active(e, ring, ends):
    """Insert all active nodes into an empty queue; returns their total excess."""
    waiting = 0
    for x in range(len(e)):
        if e[x] > 0:
            put(ring, ends, x)
            waiting += e[x]
    return waiting


def make_queue(nodes: int):
    """(ring, ends) of an empty queue."""
    return np.zeros(max(nodes, 1), np.int64), np.zeros(2 * TAIL, np.int64)
