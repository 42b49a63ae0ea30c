"""Changes to numba's CUDA simulator (NUMBA_ENABLE_CUDASIM=1) that make it suitable for tests; install.py makes them.

In numba's version all threads of a block run concurrently under the interpreter's lock, atomics are exclusive only per
operation, there are no warps, new arrays are uninitialised, and device functions look up `cuda` at every call.  Here

    one thread  of a block runs at a time, until it waits for others, sleeps, or reaches about every 16th atomic
                operation, chosen with a fixed seed: runs are reproducible
    exchange    passes values between the threads of a warp
    new arrays  are filled with the minimum or maximum of their dtype, so that using an uninitialised element overflows
                reproducibly
    Cuda        is numba.cuda, plus the names that exist only inside kernels while a kernel runs

If all threads wait for one another, an error is raised immediately.
"""

import threading
from collections import deque
from random import Random
from typing import NamedTuple

import numpy as np
from numba import cuda

from tests.simulator.numba_simulator_internals import change_simulator, plain_array, running_kernel

WARP = 32
ATOMICS = "add sub and_ or_ xor max min compare_and_swap cas inc dec exch".split()
BLOCK = -1  # the group of all threads of a block; other groups are warp indices


class Cuda:
    """numba.cuda for the host and for kernels."""

    def __getattr__(self, name):
        return getattr(running_kernel() or cuda, name)


class Index(NamedTuple):
    """Index of a thread in its block, or of a block in the grid."""

    x: int
    y: int
    z: int


class Thread(threading.Thread):
    """One thread of a block: the interface that numba's simulator expects, and a lock that lets it run."""

    def __init__(self, block, block_index, index, work):
        super().__init__(daemon=True)
        self.block = block
        self.blockIdx, self.threadIdx = Index(*block_index), Index(*index)
        width, height, _ = block.shape
        self.thread_id = index[0] + width * (index[1] + height * index[2])
        self.work = work
        self.turn = threading.Lock()
        self.turn.acquire()

    def run(self):
        try:
            self.wait()
            self.work()
        except Exception as error:
            if self.block.failure is None:
                error.add_note(f"in thread {tuple(self.threadIdx)} of block {tuple(self.blockIdx)}")
                self.block.failure = error
        finally:
            self.block.leave()

    def wait(self):
        """Wait until this thread may run."""
        self.turn.acquire()
        if self.block.failure is not None:
            raise RuntimeError("another thread of the block has failed")

    def syncthreads(self):
        self.block.barrier(self, BLOCK, None)

    def syncthreads_count(self, value):
        return sum(map(bool, self.block.barrier(self, BLOCK, value).values()))

    def syncthreads_and(self, value):
        return int(all(self.block.barrier(self, BLOCK, value).values()))

    def syncthreads_or(self, value):
        return int(any(self.block.barrier(self, BLOCK, value).values()))


class Block:
    """Runs the threads of a block one at a time; replaces numba's BlockManager."""

    def __init__(self, function, grid_dim, block_dim, debug):
        self.function, self.shape = function, block_dim
        self.ready = deque()
        self.running = 0
        self.barriers = {}  # group: (value of each thread by its index, waiting threads)
        self.failure = None
        self.finished = threading.Lock()
        self.finished.acquire()

    def run(self, block_index, *args):
        args = list(map(plain_array, args))
        self.random = Random(str(block_index))
        threads = [Thread(self, block_index, index, lambda: self.function(*args)) for index in np.ndindex(*self.shape)]
        self.ready.extend(threads)
        self.running = len(threads)
        for thread in threads:
            thread.start()
        self.run_next()
        self.finished.acquire()
        if self.failure is not None:
            raise self.failure

    def run_next(self):
        """Let the next thread run."""
        if not self.ready and self.barriers:
            if self.failure is None:
                self.failure = RuntimeError("the threads of a block wait for one another")
            self.release_all()
        if self.ready:
            self.ready.popleft().turn.release()
        else:
            self.finished.release()

    def yield_turn(self, thread):
        """Let the other ready threads run first."""
        if self.ready:
            self.ready.append(thread)
            self.run_next()
            thread.wait()

    def barrier(self, thread, group, value):
        """Wait until all threads of the group have called this; return their values by thread index."""
        values, waiting = self.barriers.setdefault(group, ({}, []))
        values[thread.thread_id] = value
        if len(values) == (self.running if group == BLOCK else WARP):
            del self.barriers[group]
            self.ready.extend(waiting)
        else:
            waiting.append(thread)
            self.run_next()
            thread.wait()
        return values

    def leave(self):
        """Called when a thread ends."""
        self.running -= 1
        if self.failure is not None:
            self.release_all()
        elif BLOCK in self.barriers and len(self.barriers[BLOCK][0]) == self.running:
            self.ready.extend(self.barriers.pop(BLOCK)[1])
        self.run_next()

    def release_all(self):
        for _, waiting in self.barriers.values():
            self.ready.extend(waiting)
        self.barriers.clear()


def exchange(value):
    """The values of all threads of a warp, in lane order; all of them must call this."""
    thread = threading.current_thread()
    warp = thread.thread_id // WARP
    values = thread.block.barrier(thread, warp, value)
    return [values[warp * WARP + lane] for lane in range(WARP)]


def yield_turn():
    """Let the other threads of the block run first, in the calling thread."""
    thread = threading.current_thread()
    thread.block.yield_turn(thread)


def _interrupted(operation):
    def call(self, *args):
        thread = threading.current_thread()
        if thread.block.random.random() < 1 / 16:
            thread.block.yield_turn(thread)
        return operation(self, *args)

    return call


class Numpy:
    """numpy for the simulator's local and shared arrays, with `empty` that fills them with extreme values."""

    def __getattr__(self, name):
        return getattr(np, name)

    def empty(self, shape, dtype):
        limits = np.iinfo(dtype) if np.issubdtype(dtype, np.integer) else np.finfo(dtype)
        return np.full(shape, threading.current_thread().block.random.choice((limits.min, limits.max)), dtype)


change_simulator(Block, Numpy(), lambda self, nanoseconds: yield_turn(), {name: _interrupted for name in ATOMICS})
