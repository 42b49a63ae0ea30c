"""S, the active nodes, as a queue that threads share: many writers, many readers, no locks.

A node is put in exactly when a push takes its excess from 0 to 1, and whoever takes it out operates on it until it has
none; so it is never in the queue twice nor with two threads, and a ring with a place for every node cannot overflow.

A thread may be stopped between taking a place and filling it, while others go round the whole ring; so every place
says which round it is in, and nobody fills it, or reads it, a round too early or too late.

Arrays, K = len(ring) + 1
  ring[place % len(ring)]   round * K: empty;  round * K + node + 1: filled in this round
  ends[HEAD]                places taken, by compare-and-swap;   ends[TAIL]  places given out, by atomic addition

Vyukov. "Bounded MPMC queue." 2010, of which this is the form for integers.
Michael, Scott. "Simple, fast, and practical non-blocking and blocking concurrent queue algorithms." PODC 1996 (there
with a list instead of a ring).
"""

import numpy as np

from gridcut.device import atomic_add, atomic_cas, atomic_load, atomic_store, kernel

HEAD, TAIL = 0, 16  # in different cache lines
NONE = -1


@kernel
def put(ring, ends, node):
    """Put a node at the tail."""
    ticket = atomic_add(ends, TAIL, 1)
    slot = ticket % len(ring)
    empty = ticket // len(ring) * (len(ring) + 1)
    while atomic_load(ring, slot) != empty:  # who took this place a round ago has not read it yet
        pass
    atomic_store(ring, slot, empty + node + 1)


@kernel
def take(ring, ends):
    """The node at the head, or NOBODY."""
    while True:
        head = atomic_load(ends, HEAD)
        if head >= atomic_load(ends, TAIL):
            return NONE
        if atomic_cas(ends, HEAD, head, head + 1) == head:
            slot = head % len(ring)
            empty = head // len(ring) * (len(ring) + 1)
            found = atomic_load(ring, slot)
            while found <= empty:  # the writer is between its two steps
                found = atomic_load(ring, slot)
            atomic_store(ring, slot, empty + len(ring) + 1)
            return found - empty - 1


@kernel
def put_active(e, ring, ends):
    """Fill an empty queue with all active nodes; how many units they have too many."""
    waiting = 0
    for x in range(len(e)):
        if e[x] > 0:
            put(ring, ends, x)
            waiting += e[x]
    return waiting


def make_queue(nodes: int):
    """(ring, ends) of an empty queue."""
    return np.zeros(max(nodes, 1), np.int64), np.zeros(2 * TAIL, np.int64)
